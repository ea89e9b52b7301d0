import EventLoop
import Glibc
import Testing

@Suite struct DescriptorsTests {
  @Test(arguments: [(64, 16), (256, 64), (1024, 256), (2048, 512), (1 << 20, 512)])
  func theLastAreKept(_ limit: Int, _ reserved: Int) { #expect(Descriptors.reserved(of: limit) == reserved) }

  @Test func whatCanDoWithoutLeavesTheLastAlone() async {
    await #expect(processExitsWith: .success) {
      // Some are there already, with low numbers.
      var limit = rlimit(rlim_cur: 1024, rlim_max: 1024)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      #expect(Descriptors.raiseLimit() == 1024)
      // Threads that the test does not know open and close some meanwhile.
      var taken: [Int32] = []
      repeat {
        while case let next = Descriptors.yielding(open("/dev/null", O_RDONLY)), next >= 0 {
          taken.append(next)
        }
        #expect(errno == EMFILE)
      } while Descriptors.areLeft
      #expect(!taken.isEmpty && taken.allSatisfy { $0 < 768 })
      // Others still get some.
      let rest = (0..<200).map { _ in open("/dev/null", O_RDONLY) }
      #expect(rest.allSatisfy { $0 >= 0 } && rest.contains { $0 >= 768 })
      for descriptor in taken { close(descriptor) }
      #expect(Descriptors.areLeft)
    }
  }
}
