/* Compares the declarations of NCCL in kernels/cuda/nccl.cu with nccl.h, where a package of NCCL has installed it. */
#include "tests/test.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#include <type_traits>

#define DG_NCCL_DECLARED
#include "kernels/cuda/nccl.cu"

#define SAME(member, function) static_assert(std::is_same<decltype(nccl.member), decltype(&function)>::value, #function)
SAME(get_version, ncclGetVersion);
SAME(unique_id, ncclGetUniqueId);
SAME(init, ncclCommInitRank);
SAME(destroy, ncclCommDestroy);
SAME(end_calls, ncclCommAbort);
SAME(async_error, ncclCommGetAsyncError);
SAME(text, ncclGetErrorString);
SAME(all_gather, ncclAllGather);
SAME(send, ncclSend);
SAME(recv, ncclRecv);
SAME(begin, ncclGroupStart);
SAME(end, ncclGroupEnd);

int main()
{
    DG_CHECK(sizeof(ncclUniqueId) == 128 && ncclInt8 == 0);
    DG_CHECK(ncclSuccess == 0 && ncclUnhandledCudaError == 1 && ncclSystemError == 2 && ncclInternalError == 3 &&
             ncclInvalidArgument == 4 && ncclInvalidUsage == 5 && ncclRemoteError == 6 && ncclInProgress == 7);
    return dg_test_report();
}
#else
int main()
{
    puts("SKIP: there is no nccl.h");
    return 77;
}
#endif
