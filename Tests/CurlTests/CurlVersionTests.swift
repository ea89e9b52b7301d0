import Curl
import TestSupport
import Testing

@Suite struct CurlVersionTests {
  @Test(
    arguments: [
      (0x074C00, "7.76.0", false), (0x075801, "7.88.1", false), (0x080001, "8.0.1", false),
      (0x080100, "8.1.0", true), (0x080E01, "8.14.1", true), (0x090000, "9.0.0", true),
    ] as [(UInt32, String, Bool)])
  func `handles are reused if that is safe`(_ number: UInt32, _ text: String, _ isSafe: Bool) throws {
    let version = CurlVersion(number: number)
    #expect(version.description == text && version.cleansHandles == isSafe)
    let pool = EasyHandlePool(maximumIdle: 1, version: version)
    let first = try pool.dequeue()
    pool.enqueue(first)
    #expect(try (pool.dequeue() === first) == isSafe)
  }

  @Test func `pool keeps at most its limit of handles`() throws {
    let pool = EasyHandlePool(maximumIdle: 1, version: CurlVersion(8, 14, 1))
    let (first, second) = (try pool.dequeue(), try pool.dequeue())
    pool.enqueue(first)
    pool.enqueue(second)
    #expect(try pool.dequeue() === first)
    #expect(try pool.dequeue() !== second)
  }

  @Test func `loaded libcurl is the wanted one`() {
    #expect(CurlVersion.loaded >= CurlVersion(7, 88, 0))
    if let wanted = FerryProcess.wantedLibcurl { #expect(CurlVersion.loaded.description == wanted) }
  }
}
