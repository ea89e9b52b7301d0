import EventLoop
import Glibc
import Testing

@Suite struct DescriptorsTests {
  @Test(arguments: [(64, 16), (256, 64), (1024, 256), (2048, 512), (1 << 20, 512)])
  func lastAreReserved(_ limit: Int, _ reserved: Int) { #expect(Descriptors.reserved(of: limit) == reserved) }

  @Test func `reserved descriptors are not used`() async {
    await #expect(processExitsWith: .success) {
      // Some descriptors with low numbers are open already.
      var limit = rlimit(rlim_cur: 1024, rlim_max: 1024)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      #expect(Descriptors.raiseLimit() == 1024)
      // Unknown threads of the process open and close descriptors meanwhile.
      var taken: [Int32] = []
      repeat {
        while case let next = Descriptors.rejectingReserved(open("/dev/null", O_RDONLY)), next >= 0 {
          taken.append(next)
        }
        #expect(errno == EMFILE)
      } while Descriptors.hasSpare
      #expect(!taken.isEmpty && taken.allSatisfy { $0 < 768 })
      // Other callers still get descriptors.
      let rest = (0..<200).map { _ in open("/dev/null", O_RDONLY) }
      #expect(rest.allSatisfy { $0 >= 0 } && rest.contains { $0 >= 768 })
      for descriptor in taken { close(descriptor) }
      #expect(Descriptors.hasSpare)
    }
  }
}
