import Curl
import TestSupport
import Testing

@Suite struct CurlVersionTests {
  @Test(
    arguments: [
      (0x074C00, "7.76.0", false), (0x075801, "7.88.1", false), (0x080001, "8.0.1", false),
      (0x080100, "8.1.0", true), (0x080E01, "8.14.1", true), (0x090000, "9.0.0", true),
    ] as [(UInt32, String, Bool)])
  func handlesAreUsedAgainWhereThatIsSafe(_ number: UInt32, _ text: String, _ isSafe: Bool) throws {
    let version = CurlVersion(number: number)
    #expect(version.description == text && version.cleansHandles == isSafe)
    let pool = EasyHandlePool(maximumIdle: 1, version: version)
    let first = try pool.take()
    pool.give(first)
    #expect(try (pool.take() === first) == isSafe)
  }

  @Test func noMoreHandlesAreKeptThanWanted() throws {
    let pool = EasyHandlePool(maximumIdle: 1, version: CurlVersion(8, 14, 1))
    let (first, second) = (try pool.take(), try pool.take())
    pool.give(first)
    pool.give(second)
    #expect(try pool.take() === first)
    #expect(try pool.take() !== second)
  }

  @Test func theLoadedOneIsTheWantedOne() {
    #expect(CurlVersion.loaded >= CurlVersion(7, 88, 0))
    if let wanted = FerryProcess.wantedLibcurl { #expect(CurlVersion.loaded.description == wanted) }
  }
}
