import Glibc

/// A blocking TCP socket with a time limit on every read, so that a test fails instead of hanging.
package final class Socket: @unchecked Sendable {
  package struct Failure: Error { package let operation: String; package let errno: Int32 }
  package let descriptor: Int32
  private var buffer: [UInt8] = []

  package init(descriptor: Int32) {
    self.descriptor = descriptor
    setTimeout(seconds: Int(Patience.seconds) + 30)
  }

  /// Connects to loopback.
  /// - Parameter namespace: The namespace of the loopback interface. If `nil`, this process's.
  package convenience init(connectingTo port: Int, in namespace: NetworkNamespace? = nil) throws {
    let descriptor = try Self.open(in: namespace)
    var address = Self.loopback(port)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      defer { Glibc.close(descriptor) }
      throw Failure(operation: "connect", errno: errno)
    }
    self.init(descriptor: descriptor)
  }

  deinit { Glibc.close(descriptor) }

  /// A socket stays in the namespace in which it was created.
  private static func open(in namespace: NetworkNamespace?) throws -> Int32 {
    guard let namespace else { return socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    return try namespace.inside { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
  }

  /// Listens on a free port of loopback.
  static func listen() -> (descriptor: Int32, port: Int) {
    listen(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), at: loopback(0))
  }

  /// Listens on a free port of all addresses of the namespace.
  static func listen(in namespace: NetworkNamespace) throws -> (descriptor: Int32, port: Int) {
    var address = loopback(0)
    address.sin_addr.s_addr = 0
    return listen(try open(in: namespace), at: address)
  }

  static func listenEverywhere() -> (descriptor: Int32, port: Int) {
    var address = loopback(0)
    address.sin_addr.s_addr = 0
    return listen(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), at: address)
  }

  /// Connects to a UNIX socket.
  package convenience init(connectingTo path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard UnixAddress.with(path, { connect(descriptor, $0, $1) }) == 0 else {
      defer { Glibc.close(descriptor) }
      throw Failure(operation: "connect", errno: errno)
    }
    self.init(descriptor: descriptor)
  }

  private static func listen(
    _ listener: Int32, at address: sockaddr_in
  ) -> (descriptor: Int32, port: Int) {
    var address = address
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        bind(listener, raw, length)
        Glibc.listen(listener, 256)
        getsockname(listener, raw, &length)
      }
      return Int(in_port_t(bigEndian: pointer.pointee.sin_port))
    }
    return (listener, port)
  }

  static func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// The peer's IPv4 address, or an empty string if the socket has no peer.
  package var peer: String {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    guard status == 0 else { return "" }
    return withUnsafeBytes(of: address.sin_addr.s_addr) { $0.map(String.init).joined(separator: ".") }
  }

  /// The traffic class of the peer's packets when it connected: the code point (RFC 2474) in the upper six of eight
  /// bits.
  package var trafficClass: Int {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutableBytes(of: &address) { raw in
      _ = getsockname(descriptor, raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
    }
    let isV6 = address.ss_family == sa_family_t(AF_INET6)
    let level = isV6 ? Int32(IPPROTO_IPV6) : Int32(IPPROTO_IP)
    var on: Int32 = 1
    setsockopt(
      descriptor, level, isV6 ? IPV6_RECVTCLASS : IP_RECVTOS, &on, socklen_t(MemoryLayout<Int32>.size))
    // The control message contains its length, level and type, and then the byte.
    var message = [UInt8](repeating: 0, count: 64)
    length = socklen_t(message.count)
    guard
      getsockopt(descriptor, level, isV6 ? IPV6_2292PKTOPTIONS : IP_PKTOPTIONS, &message, &length) == 0,
      length > 16
    else { return -1 }
    return Int(message[16])
  }

  package func setTimeout(seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  package func write(_ text: String) throws { try write(Array(text.utf8)) }

  package func write(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress! + done, $0.count - done, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(operation: "send", errno: errno) }
      done += count
    }
  }

  /// Returns at least one byte, or `nil` at the end.
  package func readSome() throws -> [UInt8]? {
    if !buffer.isEmpty {
      defer { buffer = [] }
      return buffer
    }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    // A stopped and continued process gets EINTR from calls with a time limit (signal(7)).
    var count = 0
    repeat { count = recv(descriptor, &chunk, chunk.count, 0) } while count < 0 && errno == EINTR
    if count == 0 { return nil }
    guard count > 0 else { throw Failure(operation: "recv", errno: errno) }
    return Array(chunk[..<count])
  }

  package func read(exactly count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    guard count > 0 else { return bytes }
    while bytes.count < count {
      guard let more = try readSome() else {
        throw Failure(operation: "the connection ended early", errno: 0)
      }
      bytes += more
    }
    buffer = Array(bytes[count...])
    return Array(bytes[..<count])
  }

  /// Returns a line without its CRLF, or `nil` at the end.
  package func readLine() throws -> String? {
    var line: [UInt8] = []
    while true {
      if let end = line.firstIndex(of: 0x0A) {
        buffer = Array(line[(end + 1)...])
        let text = line[..<end]
        return String(decoding: text.last == 0x0D ? text.dropLast() : text, as: UTF8.self)
      }
      guard let more = try readSome() else { return nil }
      line += more
    }
  }

  /// Returns the next chunk of a chunked body, or `nil` at its end.
  package func readChunk() throws -> [UInt8]? {
    guard let line = try readLine(), let size = Int(line, radix: 16) else {
      throw Failure(operation: "chunk size", errno: 0)
    }
    let chunk = try read(exactly: size)
    _ = try readLine()
    return size == 0 ? nil : chunk
  }

  /// Writes until the peer accepts no bytes for this time. Returns the number of accepted bytes.
  package func offer(_ bytes: [UInt8], patience milliseconds: Int32) -> Int {
    var done = 0
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    while done < bytes.count, poll(&entry, 1, milliseconds) > 0 {
      let count = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress! + done, $0.count - done, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      guard count > 0 else { break }
      done += count
    }
    return done
  }

  /// Returns whether bytes or the end arrive within this time.
  package func hasBytes(within milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  /// Makes the coming close a reset (RST).
  package func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  package func shutdownWrites() { shutdown(descriptor, Int32(SHUT_WR)) }
}
