import Glibc
import Testing

@testable import HTTPServer

/// The memory that waiting streams release.
@Suite struct StreamBufferTests {
  private static let page = sysconf(Int32(_SC_PAGESIZE))

  private struct Memory {
    let bytes: Range<Int>
    /// The pages that are released.
    let pages: Range<Int>

    init(from start: Int, to end: Int, gives pages: Range<Int>) {
      bytes = start..<end
      self.pages = pages
    }
  }

  private static let cases = [
    Memory(from: 0, to: 4 * page, gives: 0..<4),
    Memory(from: 1, to: 4 * page, gives: 1..<4),
    Memory(from: page - 1, to: 4 * page, gives: 1..<4),
    Memory(from: page, to: 4 * page - 1, gives: 1..<3),
    Memory(from: 700, to: 3 * page + 1, gives: 1..<3),
    Memory(from: 0, to: page - 1, gives: 0..<0),
    Memory(from: 1, to: page + 1, gives: 0..<0),
    Memory(from: page, to: page, gives: 0..<0),
  ]

  /// Four pages without zeros.
  private static func withPages(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * page, alignment: page)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0xA5)
    body(memory)
  }

  private static func isFull(_ memory: UnsafeMutableRawBufferPointer, _ page: Int) -> Bool {
    memory[page * Self.page..<(page + 1) * Self.page].allSatisfy { $0 == 0xA5 }
  }

  private static func isEmpty(_ memory: UnsafeMutableRawBufferPointer, _ page: Int) -> Bool {
    memory[page * Self.page..<(page + 1) * Self.page].allSatisfy { $0 == 0 }
  }

  @Test("only whole pages within the range are released", arguments: cases.indices)
  func onlyWholePagesAreReleased(number: Int) {
    let given = Self.cases[number]
    Self.withPages { memory in
      var buffer = StreamBuffer()
      buffer.releasePages(UnsafeMutableRawBufferPointer(rebasing: memory[given.bytes]))
      for page in 0..<4 {
        #expect(given.pages.contains(page) ? Self.isEmpty(memory, page) : Self.isFull(memory, page))
      }
    }
  }

  @Test("an empty buffer is allowed") func emptyBufferIsAllowed() {
    var buffer = StreamBuffer()
    buffer.releasePages(UnsafeMutableRawBufferPointer(start: nil, count: 0))
  }

  @Test("a short write keeps its page, and a long write releases pages")
  func longWriteReleasesPages() {
    Self.withPages { memory in
      var buffer = StreamBuffer()
      buffer.releasePages(memory)
      buffer.write([UInt8](repeating: 0xA5, count: StreamBuffer.kept), into: memory)
      buffer.releasePages(memory)
      #expect(Self.isFull(memory, 0))
      buffer.write([UInt8](repeating: 0xA5, count: StreamBuffer.kept + 1), into: memory)
      buffer.write([1], into: memory)
      buffer.releasePages(memory)
      #expect((0..<4).allSatisfy { Self.isEmpty(memory, $0) })
    }
  }
}
