import Foundation
import Testing

/// A copy of a file's descriptor, such as a starting process has before it calls execve(2).
final class DescriptorCopy {
  private let descriptor: Int32

  init(of path: String) throws {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").first { name in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == path
    }
    descriptor = dup(try #require(open.flatMap { Int32($0) }))
    try #require(descriptor >= 0)
  }

  deinit { close(descriptor) }
}
