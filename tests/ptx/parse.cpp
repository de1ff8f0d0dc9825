#define parse_ptx parse_without_clusters
#include <parse.cpp>
#undef parse_ptx
std::unique_ptr<Module> parse_ptx(const std::string &text);

/* Replaces cluster barriers by PTX code in a single line, because instructions are counted per line. */
std::unique_ptr<Module> parse_ptx(const std::string &text)
{
    static const std::string arrive = "barrier.cluster.arrive.release.aligned;",
                             wait = "barrier.cluster.wait.acquire.aligned;";
    std::string out;
    int labels = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t found = text.find("barrier.cluster.", at);
        out.append(text, at, found == std::string::npos ? found : found - at);
        if (found == std::string::npos) break;
        if (!text.compare(found, arrive.size(), arrive)) {
            out += "cluster.arrive;";
            at = found + arrive.size();
        } else if (!text.compare(found, wait.size(), wait)) {
            const std::string n = std::to_string(labels++);
            out += "{ .reg .pred cluster_passed; CLUSTER_WAIT_" + n +
                   ": cluster.passed cluster_passed; "
                   "@cluster_passed bra CLUSTER_DONE_" +
                   n + "; nanosleep.u32 20; bra CLUSTER_WAIT_" + n + "; CLUSTER_DONE_" + n + ": }";
            at = found + wait.size();
        } else {
            out += "barrier.cluster."; /* an unsupported form, which the executor reports as unknown */
            at = found + 16;
        }
    }
    return parse_without_clusters(out);
}
