internal import CCurl
internal import Glibc

/// What happens to bytes that libcurl hands over.
package enum BodyDisposition: Sendable {
  case accepted
  /// Not taken: libcurl offers them again after `EasyHandle.resume()`.
  case paused
  /// The transfer ends with a write error.
  case refused
}

/// Hears what libcurl's callbacks say of one transfer. Runs inside libcurl: record, and act later.
package protocol EasyHandleDelegate: AnyObject {
  /// One header line with its line end; a blank line ends a head.
  func didReceiveHeader(_ line: UnsafeRawBufferPointer)
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition
  /// Asked for each address before a socket is opened for it.
  func mayConnect(to address: PeerAddress) -> Bool
  /// Asked before a request goes out, also on a connection that is used again.
  func maySendRequest(toAddress address: String) -> Bool
}

/// Owner of a `CURL *`. Belongs to the loop of the multi handle that it is added to.
package final class EasyHandle {
  let raw: OpaquePointer
  package weak var delegate: (any EasyHandleDelegate)?
  private var headers: UnsafeMutablePointer<curl_slist>?

  package init() throws(CurlError) {
    guard let raw = curl_easy_init() else {
      throw CurlError(result: CurlResult(code: 2), operation: "easy_init")
    }
    self.raw = raw
  }

  deinit {
    curl_slist_free_all(headers)
    curl_easy_cleanup(raw)
  }

  /// Back to a new handle's options, but with its share of caches (curl_easy_reset).
  package func reset() {
    curl_easy_reset(raw)
    curl_slist_free_all(headers)
    headers = nil
    delegate = nil
  }

  // MARK: Options

  package func set(_ option: EasyOption<String>, to value: String?) throws(CurlError) {
    try check(ccurl_easy_setopt_string(raw, option.raw, value), "easy_setopt \(option.raw.rawValue)")
  }
  package func set(_ option: EasyOption<Int>, to value: Int) throws(CurlError) {
    try check(ccurl_easy_setopt_long(raw, option.raw, value), "easy_setopt \(option.raw.rawValue)")
  }
  package func set(_ option: EasyOption<Int64>, to value: Int64) throws(CurlError) {
    try check(
      ccurl_easy_setopt_off_t(raw, option.raw, curl_off_t(value)), "easy_setopt \(option.raw.rawValue)")
  }

  /// A request body; libcurl copies it (CURLOPT_COPYPOSTFIELDS).
  package func setBody(_ body: [UInt8]) throws(CurlError) {
    try set(.postFieldSize, to: Int64(body.count))
    let status = body.withUnsafeBufferPointer {
      ccurl_easy_setopt_pointer(raw, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafePointer(bitPattern: 1))
    }
    try check(status, "easy_setopt COPYPOSTFIELDS")
  }

  /// Header lines, `Name: value`; `Name:` removes one of libcurl's own, `Name;` sends an empty one.
  package func setHeaders(_ lines: [String]) throws(CurlError) {
    curl_slist_free_all(headers)
    headers = nil
    for line in lines {
      guard let list = curl_slist_append(headers, line) else {
        throw CurlError(result: .outOfMemory, operation: "slist_append")
      }
      headers = list
    }
    try check(ccurl_easy_setopt_slist(raw, CURLOPT_HTTPHEADER, headers), "easy_setopt HTTPHEADER")
  }

  /// Certificates of the authorities, a PEM file. Without a directory beside it, libcurl parses the file once and
  /// not for every handshake.
  package func setCertificateAuthorities(file: String?) throws(CurlError) {
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_CAPATH, nil), "easy_setopt CAPATH")
    if let file {
      try check(ccurl_easy_setopt_string(raw, CURLOPT_CAINFO, file), "easy_setopt CAINFO")
    }
  }

  /// Least and most TLS version, as 10 to 13.
  package func setTLSVersions(minimum: Int, maximum: Int) throws(CurlError) {
    let least = [10: CURL_SSLVERSION_TLSv1_0, 11: CURL_SSLVERSION_TLSv1_1, 12: CURL_SSLVERSION_TLSv1_2]
    let most = [
      10: CURL_SSLVERSION_MAX_TLSv1_0, 11: CURL_SSLVERSION_MAX_TLSv1_1, 12: CURL_SSLVERSION_MAX_TLSv1_2,
    ]
    let value =
      Int(bitPattern: UInt((least[minimum] ?? CURL_SSLVERSION_TLSv1_3)))
      | Int(bitPattern: UInt((most[maximum] ?? CURL_SSLVERSION_MAX_TLSv1_3)))
    try set(.sslVersion, to: value)
  }

  /// Sets the callbacks, and `delegate` as who hears them.
  package func setCallbacks(_ delegate: any EasyHandleDelegate, in multi: MultiHandle) throws(CurlError) {
    self.delegate = delegate
    let context = Unmanaged.passUnretained(self).toOpaque()
    try check(ccurl_easy_setopt_data(raw, CURLOPT_HEADERFUNCTION, onHeader), "HEADERFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_HEADERDATA, context), "HEADERDATA")
    try check(ccurl_easy_setopt_data(raw, CURLOPT_WRITEFUNCTION, onBody), "WRITEFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_WRITEDATA, context), "WRITEDATA")
    try check(ccurl_easy_setopt_open_socket(raw, onOpenSocket), "OPENSOCKETFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_OPENSOCKETDATA, context), "OPENSOCKETDATA")
    try check(ccurl_easy_setopt_prerequest(raw, onPrerequest), "PREREQFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_PREREQDATA, context), "PREREQDATA")
    // A connection outlives the easy handle that opened it: its close is told to the multi handle.
    try check(ccurl_easy_setopt_close_socket(raw, onCloseSocket), "CLOSESOCKETFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_CLOSESOCKETDATA, multi.context), "CLOSESOCKETDATA")
  }

  // MARK: Flow

  /// Stops moving bytes in both directions (curl_easy_pause).
  package func pause() { curl_easy_pause(raw, CURLPAUSE_ALL) }
  /// Goes on; may call the delegate before it returns.
  package func resume() { curl_easy_pause(raw, CURLPAUSE_CONT) }

  // MARK: Facts

  package func info(_ info: EasyInfo<Int>) -> Int {
    var value = 0
    _ = ccurl_easy_getinfo_long(raw, info.raw, &value)
    return value
  }
  package func info(_ info: EasyInfo<Int64>) -> Int64 {
    var value: curl_off_t = 0
    _ = ccurl_easy_getinfo_off_t(raw, info.raw, &value)
    return Int64(value)
  }
  package func info(_ info: EasyInfo<String>) -> String? {
    var value: UnsafePointer<CChar>?
    _ = ccurl_easy_getinfo_string(raw, info.raw, &value)
    return value.flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
  }

  private func check(_ code: CURLcode, _ operation: @autoclosure () -> String) throws(CurlError) {
    guard code == CURLE_OK else {
      throw CurlError(result: CurlResult(code: Int(code.rawValue)), operation: operation())
    }
  }
}

// MARK: - Callbacks

private func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle {
  Unmanaged<EasyHandle>.fromOpaque(context!).takeUnretainedValue()
}

@c private func onHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  handle(context).delegate?.didReceiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
  return size * count
}

@c private func onBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
  switch handle(context).delegate?.didReceiveBody(buffer) {
  case .accepted: return buffer.count
  case .paused: return ccurl_writefunc_pause
  case .refused, nil: return buffer.count == 0 ? 1 : 0
  }
}

@c private func onOpenSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address, handle(context).delegate?.mayConnect(to: PeerAddress(address)) == true else {
    return CURL_SOCKET_BAD
  }
  let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
  return socket(address.pointee.family, type, address.pointee.protocol)
}

@c private func onPrerequest(
  _ context: UnsafeMutableRawPointer?, _ remoteAddress: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
  let address = remoteAddress.map { String(cString: $0) } ?? ""
  let isAllowed = handle(context).delegate?.maySendRequest(toAddress: address) ?? false
  return isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

@c private func onCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
  Unmanaged<MultiHandle>.fromOpaque(context!).takeUnretainedValue().recordClose(socket)
  return close(socket)
}
