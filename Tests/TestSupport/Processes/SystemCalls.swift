import Foundation

/// The system calls of a process that change files, logged by strace.
package struct SystemCalls {
  package let file: String

  package init(file: String) { self.file = file }

  /// The wrapper that runs a command under strace. The command stays the direct child (`-D`), so it receives the
  /// signals.
  package var wrapper: [String] {
    let calls =
      "trace=%file,write,pwrite64,pwritev,pwritev2,writev,ftruncate,fallocate,copy_file_range,sendfile"
    return ["strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "8", "-e", calls, "-o", file]
  }

  /// Waits for the end of the process. Returns the lines after the first `count`.
  package func lines(after count: Int) throws -> ArraySlice<String> {
    Patience.wait { all().last?.contains("+++") != true }
    return all().dropFirst(count)
  }

  package func all() -> [String] {
    let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
  }

  /// Returns the bytes written to each named file.
  package static func written(_ lines: ArraySlice<String>) -> [String: Int] {
    var bytes: [String: Int] = [:]
    for line in lines {
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard parts.count == 2,
        ["write", "pwrite", "copy_file", "sendfile"].contains(where: parts[1].hasPrefix),
        let path = line.split(separator: "<", maxSplits: 1).last?.prefix(while: { $0 != ">" }),
        path.hasPrefix("/"), !path.hasPrefix("/memfd:"), !path.hasPrefix("/dev/")
      else { continue }
      let result = line.split(separator: " ").last.flatMap { Int($0) } ?? 0
      bytes[String(path), default: 0] += max(0, result)
    }
    return bytes
  }

  /// Returns the calls that create, rename or delete names.
  package static func named(_ lines: ArraySlice<String>) -> [String] {
    let verbs = ["rename", "link", "symlink", "mkdir", "mknod", "creat", "unlink", "rmdir", "truncate"]
    return lines.filter { line in
      let call = line.drop { $0.isNumber || $0 == " " }
      return !line.contains("= -1 ")
        && (call.hasPrefix("open") && (line.contains("O_CREAT") || line.contains("O_TMPFILE"))
          || verbs.contains { call.hasPrefix($0) })
    }
  }
}
