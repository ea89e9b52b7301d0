import EventLoop
import Glibc
import TestSupport
import Testing

@Suite(.blocking) struct DiskTests {
  /// The trap that ends an end-to-end test if a loop calls the disk.
  @Test func `disk call on a loop traps`() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      let loop = EventLoop(name: "test-disk")
      loop.start()
      loop.perform { _ = Disk.unlink("/nonexistent/file") }
      sleep(10)
    }
  }

  @Test func `disk calls on other threads are allowed`() {
    #expect(Disk.unlink("/proc/self/absent/file") == -1 && errno == ENOENT)
    #expect(Disk.size("/proc/self/absent/file") == nil && Disk.names(in: "/proc/self/absent").isEmpty)
  }

  /// If a loop releases a file, another thread closes it.
  @Test func `another thread closes files for a loop`() async throws {
    var ends = [Int32](repeating: -1, count: 2)
    #expect(pipe(&ends) == 0)
    let loop = EventLoop(name: "test-disk")
    loop.start()
    let (reader, writer) = (ends[0], ends[1])
    loop.perform { Disk.close(writer) }
    var byte: UInt8 = 0
    #expect(read(reader, &byte, 1) == 0)  // Returns when the other end is closed.
    close(reader)
    await loop.stopAndJoin()
  }
}
