/* The simulator's NCCL: a shared library with the functions of nccl.h that dcgan uses, between processes on one
 * machine, on simulated device memory, in stream order. Each call is a file NUMBER.RANK in the directory dcgan-nccl-ID
 * of TMPDIR: its kind, its size and the data. All ranks compare kinds and sizes; another order of calls ends the
 * process.
 *
 * The environment variable DCGAN_TWIN has words that change the behaviour of one rank:
 *   late=R:MS      rank R waits MS milliseconds before each call
 *   fail=R:N       call N of rank R fails, and the calls of the others wait until they are aborted
 *   version=R:V    ncclGetVersion returns V on rank R, which the launcher's environment gives */
#include "sim/api.h"

#include <atomic>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

enum result { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR };
enum call_kind { INIT, ALL_GATHER, EXCHANGE, DESTROY };
const char *const kind_name[] = {"init", "all_gather", "exchange", "destroy"};

struct unique_id {
    char text[128];
};

struct header {
    uint64_t kind, number, bytes;
};

} // namespace

struct ncclComm {
    std::string folder;
    int rank, size;
    uint64_t number = 0; /* calls that were made on the device */
    std::atomic<int> state{SUCCESS};
    std::atomic<bool> aborted{false};
};

namespace {

/* A call, kept until the communicator is destroyed, because graphs repeat calls. */
struct call {
    ncclComm *comm;
    call_kind kind;
    uint64_t bytes; /* of one part */
    const char *from;
    char *to;
};

struct {
    bool open;
    ncclComm *comm;
    cudaStream_t stream;
    std::vector<const char *> from;
    std::vector<char *> to;
    size_t bytes;
} group;

long word(const char *name, int rank)
{
    const char *all = getenv("DCGAN_TWIN"), *at = all ? strstr(all, name) : nullptr;
    int of;
    long value;
    return at && sscanf(at + strlen(name), "=%d:%ld", &of, &value) == 2 && of == rank ? value : 0;
}

std::string path(const ncclComm *c, uint64_t number, int rank)
{
    return c->folder + "/" + std::to_string(number) + "." + std::to_string(rank);
}

/* Stores the file under a temporary name first, so that readers find whole files. */
void store(const ncclComm *c, const header &h, const void *data, size_t bytes)
{
    const std::string name = path(c, h.number, c->rank), part = name + ".part";
    const int file = open(part.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (file < 0 || write(file, &h, sizeof h) != (ssize_t)sizeof h || write(file, data, bytes) != (ssize_t)bytes ||
        close(file) || rename(part.c_str(), name.c_str())) {
        fprintf(stderr, "sim nccl: %s cannot be written\n", name.c_str());
        _exit(86);
    }
}

/* Waits for the file of another rank. Returns -1 if the communicator was aborted. */
int await(ncclComm *c, uint64_t number, int rank)
{
    const std::string name = path(c, number, rank), failed = c->folder + "/failed";
    for (int tries = 0; !c->aborted; tries++) {
        const int file = open(name.c_str(), O_RDONLY);
        if (file >= 0) return file;
        if (!access(failed.c_str(), F_OK)) c->state = REMOTE_ERROR;
        if (tries > 15000) {
            fprintf(stderr, "sim nccl: call %d of rank %d does not come\n", (int)number, rank);
            _exit(86);
        }
        usleep(tries < 200 ? 100 : 1000);
    }
    return -1;
}

/* Reads `bytes` of another rank's file after checking that its call is the same. */
void take(ncclComm *c, const header &own, int rank, void *to, size_t bytes, size_t skip)
{
    header h;
    const int file = await(c, own.number, rank);
    if (file < 0) return;
    if (pread(file, &h, sizeof h, 0) != (ssize_t)sizeof h || h.kind != own.kind || h.bytes != own.bytes) {
        fprintf(stderr, "sim nccl: call %d is %s of %d bytes on rank %d, but %s of %d bytes on rank %d\n",
                (int)own.number, kind_name[own.kind], (int)own.bytes, c->rank, kind_name[h.kind % 4], (int)h.bytes,
                rank);
        _exit(86);
    }
    if (bytes && pread(file, to, bytes, (off_t)(sizeof h + skip)) != (ssize_t)bytes) _exit(86);
    close(file);
}

/* Removes the own file of the call before the last one, which all ranks have read. */
void forget(const ncclComm *c, uint64_t number)
{
    if (number > 1) unlink(path(c, number - 2, c->rank).c_str());
}

bool may_begin(ncclComm *c)
{
    const long fails = word("fail", c->rank);
    if (const long ms = word("late", c->rank)) usleep((useconds_t)ms * 1000);
    if (fails && c->number == (uint64_t)fails) {
        const int file = open((c->folder + "/failed").c_str(), O_CREAT | O_WRONLY, 0600);
        if (file >= 0) close(file);
        c->state = SYSTEM_ERROR;
    }
    while (c->state != SUCCESS && !c->aborted) usleep(1000);
    return !c->aborted;
}

/* The call in stream order. */
void run(void *data)
{
    const call *a = (const call *)data;
    ncclComm *c = a->comm;
    if (!may_begin(c)) return;
    const header own = {a->kind, c->number, a->bytes};
    const size_t sent = a->bytes * (size_t)(a->kind == EXCHANGE ? c->size : 1);
    const std::vector<char> mine(a->from, a->from + sent); /* a system call cannot read simulated memory */
    forget(c, c->number);
    store(c, own, mine.data(), sent);
    std::vector<char> all(a->bytes * (size_t)c->size);
    for (int r = 0; r < c->size; r++)
        take(c, own, r, &all[(size_t)r * a->bytes], a->bytes, a->kind == EXCHANGE ? (size_t)c->rank * a->bytes : 0);
    if (!c->aborted) memcpy(a->to, all.data(), all.size());
    c->number++;
}

result start(ncclComm *c, call_kind kind, const char *from, char *to, size_t bytes, cudaStream_t stream)
{
    const size_t sent = bytes * (size_t)(kind == EXCHANGE ? c->size : 1), got = bytes * (size_t)c->size;
    if (!sim::memory_owns(from, sent, false) || !sim::memory_owns(to, got, false)) return INVALID_ARGUMENT;
    static std::vector<std::unique_ptr<call>> &calls = *new std::vector<std::unique_ptr<call>>;
    calls.emplace_back(new call{c, kind, bytes, from, to});
    return cudaLaunchHostFunc(stream, run, calls.back().get()) == cudaSuccess ? SUCCESS : CUDA_ERROR;
}

int launched_rank()
{
    for (const char *name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (const char *value = getenv(name)) return atoi(value);
    return 0;
}

} // namespace

extern "C" {

result ncclGetVersion(int *version)
{
    const long other = word("version", launched_rank());
    *version = other ? (int)other : 22703;
    return SUCCESS;
}

const char *ncclGetErrorString(result r)
{
    static const char *const text[] = {"no error",
                                       "unhandled cuda error",
                                       "unhandled system error",
                                       "internal error",
                                       "invalid argument",
                                       "invalid usage",
                                       "remote process exited or there was a network error"};
    return text[r];
}

result ncclGetUniqueId(unique_id *id)
{
    const char *given = getenv("NCCL_COMM_ID");
    memset(id, 0, sizeof *id);
    if (given) snprintf(id->text, sizeof id->text, "%s", given);
    else snprintf(id->text, sizeof id->text, "%d-%ld", (int)getpid(), (long)time(nullptr));
    return SUCCESS;
}

result ncclCommInitRank(ncclComm **out, int size, unique_id id, int rank)
{
    const char *tmp = getenv("TMPDIR");
    int device = 0;
    cudaDeviceProp p;
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&p, device) != cudaSuccess) return CUDA_ERROR;
    ncclComm *c = *out = new ncclComm;
    c->folder = std::string(tmp && *tmp ? tmp : "/tmp") + "/dcgan-nccl-" + id.text;
    c->rank = rank;
    c->size = size;
    (void)mkdir(c->folder.c_str(), 0700);
    const header own = {INIT, c->number, sizeof p.pciBusID};
    store(c, own, &p.pciBusID, sizeof p.pciBusID);
    std::vector<int> bus((size_t)size);
    for (int r = 0; r < size; r++) take(c, own, r, &bus[(size_t)r], sizeof(int), 0);
    c->number++;
    for (int r = 0; r < size; r++)
        for (int k = 0; k < r; k++)
            if (bus[(size_t)k] == bus[(size_t)r]) return INVALID_USAGE;
    return SUCCESS;
}

result ncclCommGetAsyncError(ncclComm *c, result *state)
{
    *state = (result)c->state.load();
    return SUCCESS;
}

result ncclCommAbort(ncclComm *c)
{
    c->aborted = true;
    return SUCCESS;
}

/* Rank 0 removes the directory after all ranks have left. */
result ncclCommDestroy(ncclComm *c)
{
    sim::run_all();
    const header own = {DESTROY, c->number, 0};
    store(c, own, "", 0);
    for (int r = 0; r < c->size; r++) take(c, own, r, nullptr, 0, 0);
    for (uint64_t n = c->number > 2 ? c->number - 2 : 0; n < c->number; n++) unlink(path(c, n, c->rank).c_str());
    const header left = {DESTROY, c->number + 1, 0};
    store(c, left, "", 0);
    for (int r = 0; r < c->size && !c->rank; r++) take(c, left, r, nullptr, 0, 0);
    for (int r = 0; r < c->size && !c->rank; r++)
        for (uint64_t n : {own.number, left.number}) unlink(path(c, n, r).c_str());
    if (!c->rank) rmdir(c->folder.c_str());
    return SUCCESS;
}

result ncclAllGather(const void *from, void *to, size_t bytes, int, ncclComm *c, cudaStream_t stream)
{
    return start(c, ALL_GATHER, (const char *)from, (char *)to, bytes, stream);
}

result ncclGroupStart(void)
{
    group = {};
    group.open = true;
    return SUCCESS;
}

result ncclSend(const void *from, size_t bytes, int, int peer, ncclComm *c, cudaStream_t stream)
{
    if (!group.open || peer != (int)group.from.size()) return INVALID_USAGE;
    group.comm = c, group.stream = stream, group.bytes = bytes;
    group.from.push_back((const char *)from);
    return SUCCESS;
}

result ncclRecv(void *to, size_t bytes, int, int peer, ncclComm *c, cudaStream_t)
{
    if (!group.open || peer != (int)group.to.size() || bytes != group.bytes || c != group.comm) return INVALID_USAGE;
    group.to.push_back((char *)to);
    return SUCCESS;
}

/* A group of sends and receives is one call, whose parts are contiguous. */
result ncclGroupEnd(void)
{
    const ncclComm *c = group.comm;
    group.open = false;
    if (!c || group.from.size() != (size_t)c->size || group.to.size() != (size_t)c->size) return INVALID_USAGE;
    for (size_t r = 0; r < group.to.size(); r++)
        if (group.from[r] != group.from[0] + r * group.bytes || group.to[r] != group.to[0] + r * group.bytes)
            return INVALID_USAGE;
    return start(group.comm, EXCHANGE, group.from[0], group.to[0], group.bytes, group.stream);
}
}
