import Glibc
import Testing

@testable import HTTPServer

/// Memory that streams give back while they wait.
@Suite struct UnwantedPagesTests {
  private static let page = sysconf(Int32(_SC_PAGESIZE))

  /// Where the memory begins and ends, in bytes from the first page's start, and which pages are given back.
  @Test(
    "only pages that lie wholly within are given back",
    arguments: [
      (0..<4 * page, 0..<4), (1..<4 * page, 1..<4), (page - 1..<4 * page, 1..<4), (page..<4 * page - 1, 1..<3),
      (700..<3 * page + 1, 1..<3), (0..<page - 1, 0..<0), (1..<page + 1, 0..<0), (page..<page, 0..<0),
    ])
  func wholePages(bytes: Range<Int>, pages: Range<Int>) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * Self.page, alignment: Self.page)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0xA5)
    UnwantedPages.giveBack(UnsafeMutableRawBufferPointer(rebasing: memory[bytes]))
    for page in 0..<4 {
      let content: UInt8 = pages.contains(page) ? 0 : 0xA5
      #expect(memory[page * Self.page..<(page + 1) * Self.page].allSatisfy { $0 == content })
    }
  }

  @Test("there may be no memory") func nothing() {
    UnwantedPages.giveBack(UnsafeMutableRawBufferPointer(start: nil, count: 0))
  }
}
