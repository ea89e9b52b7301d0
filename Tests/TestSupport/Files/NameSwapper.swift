import Foundation
import Glibc
import Synchronization

/// A thread that swaps two names of a directory again and again (renameat2(2) with RENAME_EXCHANGE), until it is released.
package final class NameSwapper: Sendable {
  private typealias Rename =
    @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
  private let isOver = Gate()
  private let hasEnded = Gate()

  package init(_ one: String, _ other: String) {
    let (isOver, hasEnded) = (isOver, hasEnded)
    Thread.detachNewThread {
      // Swift's Glibc module lacks the function.
      let rename = unsafeBitCast(dlsym(nil, "renameat2"), to: Rename.self)
      while !isOver.wait(seconds: 0) { for _ in 0..<20 { _ = rename(AT_FDCWD, one, AT_FDCWD, other, 2) } }
      hasEnded.open()
    }
  }

  /// Ends the thread.
  package func stop() {
    isOver.open()
    _ = hasEnded.wait()
  }

  deinit { isOver.open() }
}
