internal import CLinux
internal import Glibc

/// The process's standard output, which receives the log.
package enum StandardOutput {
  /// Writes whole lines at once, so that lines of several threads do not mix.
  package static func write(_ bytes: [UInt8]) { StandardStream.write(bytes, to: 1) }
}

/// The process's standard error, which receives a command's error messages.
package enum StandardError {
  package static func write(_ bytes: [UInt8]) { StandardStream.write(bytes, to: 2) }
}

private enum StandardStream {
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }  // Without a reader of the log, the service continues.
        done += count
      }
    }
  }
}
