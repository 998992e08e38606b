// Teams, collectives, reductions and scans by their C++ overloads.
#include "check.h"
#include <complex>
#include <cstddef>
#include <cstdint>

static const int count = 3;
static long double source_memory[8 * count * 2];
static void *dest_memory;

// A value whose sums and products are exact, whatever the type; some are negative where they can be.
template <class T> T value(int pe, int i) {
    static const double values[] = {1.5, -2, 0.5};
    return T(0.5) != T(0) ? T(values[(pe + i) % 3]) : T(0x9e3779b97f4a7c15ull * (1000ull * pe + i + 1));
}

template <class T> void prepare(shmem_team_t team, T *source, T *dest, int n) {
    for (int i = 0; i < n; i++) {
        source[i] = value<T>(shmem_team_my_pe(team), i);
        dest[i] = T(1);
    }
    CHECK(shmem_sync(team) == 0);
}

template <class T> void moves(shmem_team_t team) {
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    T *source = reinterpret_cast<T *>(source_memory), *dest = static_cast<T *>(dest_memory);
    prepare(team, source, dest, 2 * n * count);
    CHECK(shmem_alltoall(team, dest, source, count) == 0);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < count; i++) CHECK(dest[pe * count + i] == value<T>(pe, me * count + i));
    CHECK(shmem_sync(team) == 0);
    prepare(team, source, dest, 2 * n * count);
    CHECK(shmem_alltoalls(team, dest, source, 1, 2, count) == 0);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < count; i++) CHECK(dest[pe * count + i] == value<T>(pe, 2 * (me * count + i)));
    CHECK(shmem_sync(team) == 0);
    prepare(team, source, dest, count);
    CHECK(shmem_broadcast(team, dest, source, count, n - 1) == 0);
    for (int i = 0; i < count; i++) CHECK(dest[i] == value<T>(n - 1, i));
    CHECK(shmem_sync(team) == 0);
    prepare(team, source, dest, count);
    CHECK(shmem_collect(team, dest, source, std::size_t(me % 2 + 1)) == 0);
    for (int pe = 0, at = 0; pe < n; pe++)
        for (int i = 0; i < pe % 2 + 1; i++) CHECK(dest[at++] == value<T>(pe, i));
    CHECK(shmem_sync(team) == 0);
    prepare(team, source, dest, count);
    CHECK(shmem_fcollect(team, dest, source, count) == 0);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < count; i++) CHECK(dest[pe * count + i] == value<T>(pe, i));
    CHECK(shmem_sync(team) == 0);
}

template <class T> T combine(int pes, int i, T start, T (*step)(T, T)) {
    for (int pe = 0; pe < pes; pe++) start = step(start, value<T>(pe, i));
    return start;
}

// Integers wrap around.
template <class T> T plus(T a, T b) {
    return T(0.5) != T(0) ? T(a + b) : T((unsigned long long)a + (unsigned long long)b);
}
template <class T> T times(T a, T b) {
    return T(0.5) != T(0) ? T(a * b) : T((unsigned long long)a * (unsigned long long)b);
}
template <class F> std::complex<F> complex_plus(std::complex<F> a, std::complex<F> b) { return a + b; }
template <class F> std::complex<F> complex_times(std::complex<F> a, std::complex<F> b) { return a * b; }
template <class T> T greater(T a, T b) { return a < b ? b : a; }
template <class T> T lesser(T a, T b) { return a < b ? a : b; }
template <class T> T both(T a, T b) { return T(a & b); }
template <class T> T either(T a, T b) { return T(a | b); }
template <class T> T differing(T a, T b) { return T(a ^ b); }

#define EXPECT(CALL, EXPECTED) \
    do { \
        prepare(team, source, dest, count); \
        CHECK(CALL(team, dest, source, count) == 0); \
        for (int i = 0; i < count; i++) { \
            T expected = EXPECTED; \
            CHECK(dest[i] == expected); \
        } \
        CHECK(shmem_sync(team) == 0); \
    } while (0)

template <class T> void sums(shmem_team_t team, T zero, T (*plus)(T, T), T (*times)(T, T)) {
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    T *source = reinterpret_cast<T *>(source_memory), *dest = static_cast<T *>(dest_memory), one = T(1);
    EXPECT(shmem_sum_reduce, combine(n, i, zero, plus));
    EXPECT(shmem_prod_reduce, combine(n, i, one, times));
    EXPECT(shmem_sum_inscan, combine(me + 1, i, zero, plus));
    EXPECT(shmem_sum_exscan, combine(me, i, zero, plus));
}

template <class T> void ordered(shmem_team_t team) {
    int n = shmem_team_n_pes(team);
    T *source = reinterpret_cast<T *>(source_memory), *dest = static_cast<T *>(dest_memory);
    EXPECT(shmem_max_reduce, combine(n, i, value<T>(0, i), greater<T>));
    EXPECT(shmem_min_reduce, combine(n, i, value<T>(0, i), lesser<T>));
    sums<T>(team, T(0), plus<T>, times<T>);
}

template <class T> void bitwise(shmem_team_t team) {
    int n = shmem_team_n_pes(team);
    T *source = reinterpret_cast<T *>(source_memory), *dest = static_cast<T *>(dest_memory);
    EXPECT(shmem_and_reduce, combine(n, i, T(~0ull), both<T>));
    EXPECT(shmem_or_reduce, combine(n, i, T(0), either<T>));
    EXPECT(shmem_xor_reduce, combine(n, i, T(0), differing<T>));
}

template <> std::complex<double> value(int pe, int i) { return {value<double>(pe, i), value<double>(pe, i + 1)}; }
template <> std::complex<float> value(int pe, int i) { return {value<float>(pe, i), value<float>(pe, i + 1)}; }

template <class... T> void move_all(shmem_team_t team) {
    int all[] = {(moves<T>(team), ordered<T>(team), 0)...};
    (void)all;
}
template <class... T> void bitwise_all(shmem_team_t team) {
    int all[] = {(bitwise<T>(team), 0)...};
    (void)all;
}

int main() {
    shmem_init();
    int n = shmem_n_pes();
    dest_memory = shmem_calloc(1, sizeof source_memory);
    CHECK(dest_memory != nullptr);
    shmem_team_t reversed;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &reversed) == 0);
    for (shmem_team_t team : {SHMEM_TEAM_WORLD, reversed}) {
        move_all<float, double, long double, char, signed char, short, int, long, long long, unsigned char,
                 unsigned short, unsigned int, unsigned long, unsigned long long, std::int8_t, std::int16_t,
                 std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::size_t,
                 std::ptrdiff_t>(team);
        bitwise_all<unsigned char, unsigned short, unsigned int, unsigned long, unsigned long long, std::int8_t,
                    std::int16_t, std::int32_t, std::int64_t, std::size_t>(team);
        sums<std::complex<double>>(team, 0, complex_plus<double>, complex_times<double>);
        sums<std::complex<float>>(team, 0, complex_plus<float>, complex_times<float>);
    }
    shmem_team_destroy(reversed);
    shmem_finalize();
}
