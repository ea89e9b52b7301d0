internal import CLinux
internal import CMicroHTTPD
internal import Glibc

/// Asks a server once how it is, as a supervisor would.
package enum HealthProbe {
  package struct Failure: Error, Sendable, CustomStringConvertible {
    package let description: String
  }
  /// Bytes of a reply that are looked at.
  private static let most = 16 * 1024

  /// Sends GET and returns the first line of the body of a 200. Blocks.
  /// - Parameters:
  ///   - host: a numeric address.
  ///   - timeout: of all of it together.
  package static func ask(
    host: String, port: Int, path: String, timeout: Duration
  ) throws(Failure) -> String {
    let authority = ListeningSocket.Address.internet(host: host, port: port).description
    let end = ContinuousClock.now + timeout
    let descriptor = cmhd_connect(host, UInt16(clamping: port), milliseconds(until: end))
    guard descriptor >= 0 else {
      throw Failure(description: "\(authority) cannot be reached: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, clinux_no_signal) == request.count else {
      throw Failure(description: "\(authority) takes no request: \(String(cString: strerror(errno)))")
    }
    let reply = try read(descriptor, until: end, from: authority)
    return try judge(reply, of: "http://\(authority)\(path)")
  }

  private static func read(
    _ descriptor: Int32, until end: ContinuousClock.Instant, from authority: String
  ) throws(Failure) -> [UInt8] {
    var (reply, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    while reply.count < most {
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let isReady = poll(&event, 1, milliseconds(until: end))
      if isReady < 0, errno == EINTR { continue }
      guard isReady > 0 else { throw Failure(description: "\(authority) does not answer in time") }
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      reply += chunk[..<count]
    }
    return reply
  }

  static func judge(_ reply: [UInt8], of url: String) throws(Failure) -> String {
    let text = String(decoding: reply, as: UTF8.self)
    let words = text.prefix { !$0.isNewline }.split(separator: " ")
    guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw Failure(description: "\(url) gives no answer in HTTP")
    }
    guard status == 200 else { throw Failure(description: "\(url) answers \(status)") }
    let body = text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
    return String(body.prefix { !$0.isNewline })
  }

  private static func milliseconds(until end: ContinuousClock.Instant) -> Int32 {
    let left = (end - .now) / .milliseconds(1)
    return Int32(max(1, min(left.rounded(.up), 1_000_000)))
  }
}
