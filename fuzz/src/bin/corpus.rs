//! The corpus as libFuzzer has it, a file for each input, and back: called by `fuzz/run.sh`, and by whoever adds an input.
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};
use voxpath_fuzz::corpus::{self, load, save};
use voxpath_fuzz::{TARGETS, target};

const USAGE: &str = "\
corpus targets                   names all targets
corpus unpack TARGET FOLDER      writes each input of corpus/TARGET.txt to a file of FOLDER, which is made anew
corpus keep TARGET FOLDER        those of FOLDER replace the inputs that have no name but their SHA-1
corpus add TARGET NAME FILE      adds one, under a name that says what was wrong";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["targets"] => {
            println!("{}", TARGETS.map(|target| target.name).join(" "));
            Ok(())
        }
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
    let read = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
    };
    let fewest = fs::read_dir(folder)?.map(read).collect::<io::Result<_>>()?;
    let mut corpus = load(target)?;
    corpus::keep(&mut corpus, fewest);
    save(target, &corpus)?;
    println!("fuzz: {target}: {} inputs", corpus.len());
    Ok(())
}

fn add(target: &str, name: &str, file: &Path) -> io::Result<()> {
    let mut corpus = load(target)?;
    corpus::add(&mut corpus, name, fs::read(file)?).map_err(io::Error::other)?;
    save(target, &corpus)
}
