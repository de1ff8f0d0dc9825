// The library from C++: is it the one that the header is of?
#include <dcgan.h>

#include <iostream>
#include <string>

int main()
{
    const std::string version = dcgan_version();
    std::cout << version << '\n';
    return version.find(DCGAN_VERSION) == std::string::npos;
}
