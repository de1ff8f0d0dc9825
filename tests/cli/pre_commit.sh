#!/bin/sh
# scripts/pre-commit and scripts/walls in a small tree: it passes, and each violation is named.
. "$(dirname "$0")/kit"
needs git
house=$dir/house
mkdir -p "$house/scripts" "$house/sim" "$house/host/cli" "$house/kernels/ops/act" "$house/core/plan" "$house/tests/sim"
mkdir -p "$house/tests/host/cli" "$house/tests/kernels/ops" "$house/tests/core/plan" "$house/samples" "$house/.ci"
for script in pre-commit lint walls order english english.words; do cp "$root/scripts/$script" "$house/scripts"; done
cp "$root/.clang-format" "$root/.shellcheckrc" "$house"
cd "$house" || exit 1
for f in core/plan/plan kernels/ops/act/act host/cli/main tests/core/plan/test_plan tests/kernels/ops/test_act \
    tests/host/cli/test_main sim/sim tests/sim/test_sim; do
    echo 'int x;' > $f.c
done
printf 'check:\n\t@echo "$(ROOM)" >> asked\n' > Makefile
git init -q . && git add .

asks() # asks CODE: the exit code for a commit of the whole tree
{
    rm -f asked
    git add -A .
    ends "$1" scripts/pre-commit sh scripts/pre-commit
}
asks 0
[ "$(sort asked | tr '\n' ' ')" = 'core/plan host/cli kernels ' ]
fact $? "the tests of three rooms should run, not of: $(cat asked)"

# wrong WORDS COMMAND [CODE]: WORDS are printed after COMMAND, whose changes are undone
wrong()
{
    words=$1
    sh -c "$2"
    asks "${3:-1}"
    prints "$words"
    git -c user.name=a -c user.email=a@b stash -q -u 2> /dev/null
    git stash drop -q
}
git -c user.name=a -c user.email=a@b commit -qm a
wrong 'includes are as scripts/order has it' "echo '#include \"host/cli/x.h\"' >> core/plan/plan.c"
wrong 'sim includes core, kernels and sim' "echo '#include \"host/cli/x.h\"' >> sim/sim.c"
wrong 'a room has a test' 'git rm -qf tests/core/plan/test_plan.c'
wrong 'kernels/ops/new' 'mkdir kernels/ops/new && cp core/plan/plan.c kernels/ops/new/new.c'
wrong 'names of their own' 'cp tests/host/cli/test_main.c tests/core/plan/test_main.c'
wrong 'scripts/wide:2' 'printf "#!/bin/sh\n# %0130d\n" 1 > scripts/wide'
# Warnings: the commit passes.
wrong 'core/plan/long.c' 'yes "int x;" | head -n 501 > core/plan/long.c' 0
wrong 'more than 40 files' 'for i in $(seq 41); do echo "int x;" > core/plan/f$i.c; done' 0
wrong 'image, dataset, sample' 'echo "/* a pic""ture */" >> core/plan/plan.c'
if command -v clang-format-14 > /dev/null; then
    wrong 'not as make format leaves it' 'echo "int   y  ;" >> core/plan/plan.c'
fi
if command -v shellcheck > /dev/null; then
    wrong 'SC2086' 'printf "#!/bin/sh\ncat \$1\n" > scripts/bad'
fi
printf 'check:\n\t@exit 1\n' > Makefile
echo 'int y;' >> core/plan/plan.c
asks 1
finish
