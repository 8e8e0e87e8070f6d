/* The workload of the real-time benchmark: small, so that what is measured is the network between its ends.
 *
 *   udp echo PORT
 *   udp ping ADDRESS PORT COUNT INTERVAL_US SIZE       prints a round trip in ns per line, "lost" for none
 *   udp blast ADDRESS PORT PACKETS_PER_S SECONDS SIZE  prints how many packets it has sent
 *   udp sink PORT IDLE_MS                              prints what has come, as JSON, once it has been idle
 *   udp timer COUNT INTERVAL_US                        prints how late it was woken in ns per line, with SCHED_FIFO
 *                                                      and idle processors kept awake
 *   udp wire TUN TUN DELAY_US                          is the least that a delay can be: what it reads from one TUN
 *                                                      device it writes to the other one DELAY_US later, scheduled as
 *                                                      "timer" is; says "ready" when it has opened both
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 9000, BATCH = 32 };

/* What a packet begins with. */
struct stamp {
    uint64_t number;
    uint64_t sent_ns;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int bound(const char *port) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 32 << 20;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    /* Forced, where we may: what the sink's own buffer drops is not the network's loss. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (bind(fd, (struct sockaddr *)&at, sizeof at)) fail("bind");
    return fd;
}

static int connected(const char *address, const char *port) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 8 << 20;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) fail("address");
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room)) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) fail("connect");
    return fd;
}

static void sleep_until(uint64_t at_ns) {
    struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000u), .tv_nsec = (long)(at_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {}
}

static _Noreturn void echo(const char *port) {
    int fd = bound(port);
    char packet[LONGEST];
    for (;;) {
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        ssize_t got = recvfrom(fd, packet, sizeof packet, 0, (struct sockaddr *)&from, &len);
        if (got > 0) sendto(fd, packet, (size_t)got, 0, (struct sockaddr *)&from, len);
    }
}

static int ping(char **arg) {
    int fd = connected(arg[0], arg[1]);
    uint64_t count = strtoull(arg[2], NULL, 10), interval = strtoull(arg[3], NULL, 10) * 1000u;
    size_t size = strtoull(arg[4], NULL, 10);
    char packet[LONGEST] = {0};
    uint64_t start = now_ns();
    for (uint64_t number = 0; number < count; number++) {
        sleep_until(start + number * interval);
        struct stamp sent = {number, now_ns()};
        memcpy(packet, &sent, sizeof sent);
        send(fd, packet, size, 0);
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        uint64_t round_trip = 0;
        while (!round_trip && poll(&wait, 1, 1000) > 0) {
            struct stamp seen;
            if (recv(fd, packet, sizeof packet, 0) < (ssize_t)sizeof seen) break;
            memcpy(&seen, packet, sizeof seen);
            if (seen.number == number) round_trip = now_ns() - seen.sent_ns;
        }
        if (round_trip) printf("%" PRIu64 "\n", round_trip); else puts("lost");
    }
    return 0;
}

static int blast(char **arg) {
    int fd = connected(arg[0], arg[1]);
    double per_s = atof(arg[2]), seconds = atof(arg[3]);
    size_t size = strtoull(arg[4], NULL, 10);
    static char packets[BATCH][LONGEST];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    for (int i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){packets[i], size};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    uint64_t start = now_ns(), sent = 0, refused = 0, total = (uint64_t)(per_s * seconds);
    while (sent < total) {
        uint64_t now = now_ns(), due = (uint64_t)((double)(now - start) * per_s / 1e9);
        uint64_t ready = due > sent ? due - sent : 0;
        if (ready == 0) {
            sleep_until(start + (uint64_t)((double)(sent + 1) * 1e9 / per_s));
            continue;
        }
        if (ready > BATCH) ready = BATCH;
        if (ready > total - sent) ready = total - sent;
        for (uint64_t i = 0; i < ready; i++) {
            struct stamp stamp = {sent + i, now};
            memcpy(packets[i], &stamp, sizeof stamp);
        }
        int taken = sendmmsg(fd, messages, (unsigned)ready, 0);
        if (taken < 0) { refused += ready; taken = (int)ready; }
        sent += (uint64_t)taken;
    }
    printf("{\"sent\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"seconds\": %.6f}\n", sent, refused, (double)(now_ns() - start) / 1e9);
    return 0;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(const uint64_t *values, uint64_t count) {
    if (!count) return 0;
    uint64_t *sorted = malloc(count * sizeof *sorted);
    if (!sorted) fail("malloc");
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    uint64_t middle = sorted[count / 2];
    free(sorted);
    return middle;
}

static int sink(char **arg) {
    int fd = bound(arg[0]), idle = atoi(arg[1]);
    static char packets[BATCH][LONGEST];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    for (int i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){packets[i], LONGEST};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    uint64_t room = 1 << 22, count = 0, octets = 0, reordered = 0, highest = 0, first = 0, last = 0;
    uint64_t *delays = malloc(room * sizeof *delays);
    if (!delays) fail("malloc");
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    /* Patient until the first packet. */
    while (poll(&wait, 1, count ? idle : 30000) > 0) {
        int got = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
        uint64_t now = now_ns();
        for (int i = 0; i < got; i++) {
            struct stamp seen;
            memcpy(&seen, packets[i], sizeof seen);
            if (!count) first = now;
            last = now;
            if (count && seen.number < highest) reordered++;
            if (seen.number > highest) highest = seen.number;
            if (count < room) delays[count] = now - seen.sent_ns;
            count++;
            octets += messages[i].msg_len;
        }
    }
    uint64_t kept = count < room ? count : room, fifth = kept / 5;
    printf("{\"received\": %" PRIu64 ", \"octets\": %" PRIu64 ", \"reordered\": %" PRIu64 ", \"seconds\": %.9f, "
           "\"delay_first_ns\": %" PRIu64 ", \"delay_last_ns\": %" PRIu64 "}\n",
           count, octets, reordered, (double)(last - first) / 1e9, median(delays, fifth),
           median(delays + (kept - fifth), fifth));
    return 0;
}

static void keep_nothing_waiting(void) {
    int awake = open("/dev/cpu_dma_latency", O_WRONLY);
    int32_t latency = 0;
    struct sched_param priority = {.sched_priority = 1};
    if (awake < 0 || write(awake, &latency, sizeof latency) != sizeof latency) fail("/dev/cpu_dma_latency");
    if (sched_setscheduler(0, SCHED_FIFO, &priority)) fail("SCHED_FIFO");
    prctl(PR_SET_TIMERSLACK, 1);
}

static int timer(char **arg) {
    uint64_t count = strtoull(arg[0], NULL, 10), interval = strtoull(arg[1], NULL, 10) * 1000u;
    keep_nothing_waiting();
    uint64_t start = now_ns();
    for (uint64_t number = 1; number <= count; number++) {
        uint64_t due = start + number * interval;
        sleep_until(due);
        printf("%" PRIu64 "\n", now_ns() - due);
    }
    return 0;
}

static int opened(const char *name) {
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq device = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(device.ifr_name, name, sizeof device.ifr_name - 1);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &device)) fail(name);
    return fd;
}

/* How long before a packet is due the thread waits awake. */
enum { AWAKE_NS = 100000, HELD = 1 << 12 };

static _Noreturn void wire(char **arg) {
    static struct { uint64_t due; ssize_t len; int to; char packet[LONGEST]; } held[HELD];
    uint64_t delay = strtoull(arg[2], NULL, 10) * 1000u, first = 0, next = 0;
    int ends[2] = {opened(arg[0]), opened(arg[1])}, epoll = epoll_create1(0);
    for (int end = 0; end < 2; end++) {
        struct epoll_event ready = {.events = EPOLLIN};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, ends[end], &ready)) fail("epoll");
    }
    puts("ready");
    fflush(stdout);
    keep_nothing_waiting();
    for (;;) {
        while (first < next && held[first % HELD].due <= now_ns()) {
            ssize_t taken = write(held[first % HELD].to, held[first % HELD].packet, (size_t)held[first % HELD].len);
            if (taken < 0) fail("write");
            first++;
        }
        for (int end = 0; end < 2; end++) {
            ssize_t got;
            while (next - first < HELD && (got = read(ends[end], held[next % HELD].packet, LONGEST)) > 0) {
                held[next % HELD].due = now_ns() + delay;
                held[next % HELD].len = got;
                held[next % HELD].to = ends[!end];
                next++;
            }
        }
        struct epoll_event ready;
        int64_t left = first < next ? (int64_t)(held[first % HELD].due - now_ns()) - AWAKE_NS : INT64_C(1000000000);
        if (left < 0) left = 0;
        struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        epoll_pwait2(epoll, &ready, 1, &wait, NULL);
    }
}

int main(int count, char **arg) {
    if (count == 3 && !strcmp(arg[1], "echo")) echo(arg[2]);
    if (count == 7 && !strcmp(arg[1], "ping")) return ping(arg + 2);
    if (count == 7 && !strcmp(arg[1], "blast")) return blast(arg + 2);
    if (count == 4 && !strcmp(arg[1], "sink")) return sink(arg + 2);
    if (count == 4 && !strcmp(arg[1], "timer")) return timer(arg + 2);
    if (count == 5 && !strcmp(arg[1], "wire")) wire(arg + 2);
    fputs("usage: udp echo PORT | ping ADDRESS PORT COUNT INTERVAL_US SIZE | blast ADDRESS PORT PACKETS_PER_S SECONDS SIZE | sink PORT IDLE_MS | timer COUNT INTERVAL_US | wire TUN TUN DELAY_US\n", stderr);
    return 2;
}
