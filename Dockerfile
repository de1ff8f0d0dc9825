# dcgan in a container; it trains on the images of a mounted folder:
#
#     docker build -t dcgan .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" dcgan --data cats/
#
# With CUDA the base has nvcc, and what runs is made from the same system without it; CUDA_ARCH names one GPU's
# architecture, which is quicker than three. To run it, Docker needs NVIDIA's container toolkit and --gpus all:
#
#     docker build -t dcgan --build-arg BASE=nvidia/cuda:12.6.3-devel-ubuntu24.04 --build-arg SMALL=ubuntu:24.04 \
#         --build-arg CUDA_ARCH=90 .
#
# With MPI=1, several processes in one container train together:
#
#     docker build -t dcgan-mpi --build-arg MPI=1 .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" --entrypoint mpirun dcgan-mpi -n 2 dcgan --data cats/
ARG BASE=debian:bookworm-slim
ARG SMALL=$BASE

FROM $BASE AS build
WORKDIR /dcgan
COPY scripts/deps scripts/
COPY scripts/build/detect scripts/build/
ARG MPI=
RUN scripts/deps ${MPI:+--mpi}
COPY . .
ARG CUDA_ARCH=
RUN make -j"$(nproc)" ${CUDA_ARCH:+CUDA_ARCH=$CUDA_ARCH} && make install DESTDIR=/installed \
    && mkdir -p /installed/usr/local/lib/dcgan
# The packages of the libraries that it is linked with, as this system calls them; by the last folder of each,
# since /lib is a link to /usr/lib and dpkg may know either.
RUN ldd dcgan $(ls dcgan-mpi-*.so 2> /dev/null) | awk '/=> \// { print $3 }' | xargs realpath | sed 's|.*\(/[^/]*/[^/]*\)$|*\1|' | xargs dpkg -S \
    | cut -d: -f1 | sort -u > /libraries && [ -z "$MPI" ] || echo openmpi-bin >> /libraries

FROM $SMALL
COPY --from=build /libraries /usr/share/dcgan/libraries
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends < /usr/share/dcgan/libraries \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/usr/local/bin/dcgan /usr/local/bin/dcgan
COPY --from=build /installed/usr/local/lib/dcgan /usr/local/lib/dcgan
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work
ENTRYPOINT ["dcgan"]
CMD ["--help"]
