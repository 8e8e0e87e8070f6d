//! The corpus as libFuzzer has it, a file for each input, and back: called by `fuzz/run.sh`, and by whoever adds an input.
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};
use voxpath_fuzz::corpus::{is_found, load, save};
use voxpath_fuzz::{TARGETS, target};

const USAGE: &str = "\
corpus unpack TARGET FOLDER      writes each input of corpus/TARGET.txt to a file of FOLDER, which is made anew
corpus keep TARGET FOLDER        those of FOLDER replace the inputs that have no name but their SHA-1
corpus add TARGET NAME FILE      adds one, under a name that says what was wrong";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        [_, name, ..] if target(name).is_none() => {
            eprintln!("{name:?} is none of {:?}", TARGETS.map(|target| target.name));
            return ExitCode::FAILURE;
        }
        ["unpack", target, folder] => unpack(target, Path::new(folder)),
        ["keep", target, folder] => keep(target, Path::new(folder)),
        ["add", target, name, file] => add(target, name, Path::new(file)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn unpack(target: &str, folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    load(target)?.into_iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
}

fn keep(target: &str, folder: &Path) -> io::Result<()> {
    let mut corpus = load(target)?;
    corpus.retain(|name, _| !is_found(name));
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let bytes = fs::read(entry.path())?;
        // Those with a name are in the folder, too.
        if !corpus.values().any(|known| *known == bytes) {
            corpus.insert(entry.file_name().to_string_lossy().into_owned(), bytes);
        }
    }
    save(target, &corpus)?;
    println!("fuzz: {target}: {} inputs", corpus.len());
    Ok(())
}

fn add(target: &str, name: &str, file: &Path) -> io::Result<()> {
    let named = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !named || is_found(name) {
        return Err(io::Error::other(format!(
            "{name:?} is no name: small letters, digits and - are allowed"
        )));
    }
    let mut corpus = load(target)?;
    if corpus.contains_key(name) {
        return Err(io::Error::other(format!("{target} has an input of the name {name}")));
    }
    corpus.insert(name.into(), fs::read(file)?);
    save(target, &corpus)
}
