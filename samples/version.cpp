// Uses the library from C++: checks that the library's version is that of its header.
#include <dcgan.h>

#include <iostream>
#include <string>

int main()
{
    const std::string version = dcgan_version();
    std::cout << version << '\n';
    return version.find(DCGAN_VERSION) == std::string::npos;
}
