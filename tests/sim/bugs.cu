/* Bugs planted in small kernels and host programs. `bugs --list` prints each bug's name and the simulator modes that
 * must detect it. `bugs NAME` runs the program of one bug, and `bugs none` runs all programs without bugs. The exit
 * code is 0 if all results are correct. */
#include <string>

#define DEV_WGMMA
#include "tests/sim/bugs_blocks.h"
#include "tests/sim/bugs_launches.h"
#include "tests/sim/bugs_products.h"

static const struct {
    const char *name, *found;
    void (*run)(), (*without)();
} bugs[] = {
#define X(bug, name, program, found) {name, found, program<bug>, program<NONE>},
    BUGS(X)
#undef X
};

int main(int argc, char **argv)
{
    sim::opt.threads = 1; /* the detection of bugs must not depend on the number of cores */
    const std::string asked = argc == 2 ? argv[1] : "";
    void (*before)() = nullptr;
    bool there = asked == "none" || asked == "--list";
    for (const auto &b : bugs) {
        if (asked == "--list") printf("%s %s\n", b.name, b.found);
        if (asked == b.name) there = true, b.run();
        if (asked == "none" && b.without != before) b.without();
        before = b.without;
    }
    if (asked == "--list") printf("none \n");
    return there ? wrong : 2;
}
