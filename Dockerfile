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
ARG BASE=debian:bookworm-slim
ARG SMALL=$BASE

FROM $BASE AS build
WORKDIR /dcgan
COPY scripts/deps scripts/
COPY scripts/build/detect scripts/build/
RUN scripts/deps
COPY . .
ARG CUDA_ARCH=
RUN make -j"$(nproc)" ${CUDA_ARCH:+CUDA_ARCH=$CUDA_ARCH} && make install DESTDIR=/installed
# The packages of the libraries that it is linked with, as this system calls them; by the last folder of each,
# since /lib is a link to /usr/lib and dpkg may know either.
RUN ldd dcgan | awk '/=> \// { print $3 }' | xargs realpath | sed 's|.*\(/[^/]*/[^/]*\)$|*\1|' | xargs dpkg -S \
    | cut -d: -f1 | sort -u > /libraries

FROM $SMALL
COPY --from=build /libraries /usr/share/dcgan/libraries
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends < /usr/share/dcgan/libraries \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/usr/local/bin/dcgan /usr/local/bin/dcgan
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work
ENTRYPOINT ["dcgan"]
CMD ["--help"]
