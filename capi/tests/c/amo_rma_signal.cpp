// The overloads of C++ as its programs use them: in templates, on static members, from threads.
#include "check.h"
#include <algorithm>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

int me, n, next, before;

// Symmetric memory for each type: what a template has is a global like any other.
template <typename T> struct Symmetric {
    static T word;
    static T words[4];
    static uint64_t signal;
};
template <typename T> T Symmetric<T>::word;
template <typename T> T Symmetric<T>::words[4];
template <typename T> uint64_t Symmetric<T>::signal;

// With a fraction, negative, or with the highest bit, and another for each PE.
template <typename T> T value(int pe) {
    if (std::is_floating_point<T>::value)
        return static_cast<T>(-1.0L / 3 - pe);
    return static_cast<T>(static_cast<T>(-100) + static_cast<T>(pe));
}

template <typename T> void rma() {
    T(&words)[4] = Symmetric<T>::words;
    const T mine[] = {value<T>(me), value<T>(me + 1), value<T>(me + 2), value<T>(me + 3)};
    const std::vector<T> theirs = {value<T>(before), value<T>(before + 1), value<T>(before + 2), value<T>(before + 3)};
    auto arrived = [&] {
        shmem_barrier_all();
        bool same = std::equal(theirs.begin(), theirs.end(), words);
        std::fill(words, words + 4, T());
        shmem_barrier_all();
        return same;
    };
    shmem_barrier_all();
    shmem_put(words, mine, 4, next);
    CHECK(arrived());
    shmem_put(SHMEM_CTX_DEFAULT, words, mine, 4, next);
    CHECK(arrived());
    shmem_put_nbi(words, mine, 4, next);
    shmem_quiet();
    CHECK(arrived());
    shmem_put_nbi(SHMEM_CTX_DEFAULT, words, mine, 4, next);
    shmem_quiet();
    CHECK(arrived());
    shmem_iput(words, mine, 1, 1, 4, next);
    CHECK(arrived());
    shmem_iput(SHMEM_CTX_DEFAULT, words, mine, 1, 1, 4, next);
    CHECK(arrived());
    shmem_ibput(words, mine, 2, 2, 2, 2, next);
    CHECK(arrived());
    shmem_ibput(SHMEM_CTX_DEFAULT, words, mine, 2, 2, 2, 2, next);
    CHECK(arrived());
    for (int i = 0; i < 4; i += 2) {
        shmem_p(&words[i], mine[i], next);
        shmem_p(SHMEM_CTX_DEFAULT, &words[i + 1], mine[i + 1], next);
    }
    shmem_quiet();
    CHECK(shmem_g(&words[3], next) == mine[3]);
    CHECK(shmem_g(SHMEM_CTX_DEFAULT, &words[2], next) == mine[2]);
    T got[4][8];
    shmem_get(got[0], words, 4, next);
    shmem_get(SHMEM_CTX_DEFAULT, got[0] + 4, words, 4, next);
    shmem_get_nbi(got[1], words, 4, next);
    shmem_get_nbi(SHMEM_CTX_DEFAULT, got[1] + 4, words, 4, next);
    shmem_iget(got[2], words, 1, 1, 4, next);
    shmem_iget(SHMEM_CTX_DEFAULT, got[2] + 4, words, 1, 1, 4, next);
    shmem_ibget(got[3], words, 2, 2, 2, 2, next);
    shmem_ibget(SHMEM_CTX_DEFAULT, got[3] + 4, words, 2, 2, 2, 2, next);
    shmem_quiet();
    for (auto &both : got)
        CHECK(std::equal(mine, mine + 4, both) && std::equal(mine, mine + 4, both + 4));
    CHECK(arrived());

    uint64_t *signal = &Symmetric<T>::signal;
    shmem_put_signal(words, mine, 4, signal, 3, SHMEM_SIGNAL_SET, next);
    CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 3) == 3 && arrived());
    shmem_put_signal(SHMEM_CTX_DEFAULT, words, mine, 4, signal, 3, SHMEM_SIGNAL_ADD, next);
    CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 6) == 6 && arrived());
    shmem_put_signal_nbi(words, mine, 4, signal, 3, SHMEM_SIGNAL_SET, next);
    CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 3) == 3 && arrived());
    shmem_put_signal_nbi(SHMEM_CTX_DEFAULT, words, mine, 4, signal, 3, SHMEM_SIGNAL_ADD, next);
    CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 6) == 6 && arrived());
    shmem_quiet();
}

template <typename T> void extended() {
    T *word = &Symmetric<T>::word, fetched;
    *word = value<T>(me);
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch(word, next) == value<T>(next));
    CHECK(shmem_atomic_fetch(const_cast<const T *>(word), next) == value<T>(next));
    CHECK(shmem_atomic_swap(word, T(7), next) == value<T>(next));
    shmem_atomic_set(word, T(8), next);
    CHECK(shmem_atomic_swap(SHMEM_CTX_DEFAULT, word, T(9), next) == T(8));
    shmem_atomic_fetch_nbi(&fetched, word, next);
    shmem_quiet();
    CHECK(fetched == T(9));
    shmem_atomic_swap_nbi(SHMEM_CTX_DEFAULT, &fetched, word, T(10), next);
    shmem_quiet();
    CHECK(fetched == T(9));
    shmem_barrier_all();
    CHECK(*word == T(10));
    shmem_barrier_all();
}

template <typename T> void standard() {
    T *word = &Symmetric<T>::word;
    *word = value<T>(me);
    shmem_barrier_all();
    CHECK(shmem_atomic_compare_swap(word, value<T>(next), T(5), next) == value<T>(next));
    CHECK(shmem_atomic_fetch_inc(word, next) == T(5));
    shmem_atomic_inc(SHMEM_CTX_DEFAULT, word, next);
    CHECK(shmem_atomic_fetch_add(word, T(-9), next) == T(7));
    shmem_atomic_add(word, T(1), next);
    shmem_wait_until(word, SHMEM_CMP_EQ, T(-1));
    CHECK(shmem_test(word, std::is_signed<T>::value ? SHMEM_CMP_LT : SHMEM_CMP_GT, T(0)) == 1);
    shmem_barrier_all();
    // From several threads of each PE.
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([word] {
            for (int j = 0; j < 25; j++)
                shmem_atomic_add(word, T(2), next);
        });
    for (auto &thread : threads)
        thread.join();
    shmem_wait_until(word, SHMEM_CMP_EQ, T(199));
    shmem_barrier_all();
}

template <typename T> void bitwise() {
    T *word = &Symmetric<T>::word;
    *word = T(0xf0);
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch_and(word, T(0x3c), next) == T(0xf0));
    CHECK(shmem_atomic_fetch_or(SHMEM_CTX_DEFAULT, word, T(0x03), next) == T(0x30));
    CHECK(shmem_atomic_fetch_xor(word, T(0xff), next) == T(0x33));
    shmem_atomic_and(word, T(~T(4)), next);
    shmem_atomic_or(word, T(1), next);
    shmem_atomic_xor(word, T(T(1) << (8 * sizeof(T) - 2)), next);
    shmem_barrier_all();
    CHECK(*word == T(T(0xc9) | T(1) << (8 * sizeof(T) - 2)));
    shmem_barrier_all();
}

template <typename...> struct Each;
template <> struct Each<> {
    static void rma() {}
    static void extended() {}
    static void standard() {}
    static void bitwise() {}
};
template <typename T, typename... More> struct Each<T, More...> {
    static void rma() { ::rma<T>(), Each<More...>::rma(); }
    static void extended() { ::extended<T>(), Each<More...>::extended(); }
    static void standard() { ::standard<T>(), Each<More...>::standard(); }
    static void bitwise() { ::bitwise<T>(), Each<More...>::bitwise(); }
};

} // namespace

int main() {
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    Each<float, double, long double, char, signed char, short, int, long, long long, unsigned char, unsigned short,
         unsigned, unsigned long, unsigned long long>::rma();
    Each<float, double, int, long, long long, unsigned, unsigned long, unsigned long long>::extended();
    Each<int, long, long long, unsigned, unsigned long, unsigned long long>::standard();
    Each<unsigned, unsigned long, unsigned long long, int32_t, int64_t>::bitwise();
    shmem_finalize();
    return 0;
}
