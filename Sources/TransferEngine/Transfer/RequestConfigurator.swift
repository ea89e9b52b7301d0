internal import ContentCoding
internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// Turns a request and its session's configuration into options of an easy handle.
struct RequestConfigurator {
  let userAgent: String

  /// The largest request body in bytes that is copied and sent with the head. Larger bodies are read as the origin takes them.
  private static let copiedBodyLimit = 64 * 1024
  private static let bufferSize = 100 * 1024

  /// Sets all options on a handle that was reset.
  func configure(_ easy: EasyHandle, for transfer: Transfer, multi: MultiHandle) throws {
    let configuration = transfer.job.configuration
    let headers = transfer.outgoingHeaders
    try easy.set(.url, to: transfer.url.text)
    try setPolicy(easy)
    try setMethod(easy, transfer)
    try setProxy(easy, transfer)
    try easy.set(.httpVersion, to: 4)  // CURL_HTTP_VERSION_2TLS
    try setHeaders(easy, transfer, headers)
    if transfer.connectsBeforeBody { try easy.set(.freshConnect, to: 1) }
    // As URLSession: the response is decoded whatever Accept-Encoding the request has. A range, however, is one of the coded bytes.
    transfer.content.acceptsCodings = Self.isDecoded(transfer, headers)
    try easy.set(.pipeWait, to: configuration.httpShouldUsePipelining ? 1 : 0)
    try setTLS(easy, transfer, multi)
    easy.codePoint = transfer.networkServiceType.codePoint
    try easy.set(.bufferSize, to: transfer.limits.areAny ? 16 * 1024 : Self.bufferSize)
    try easy.setCallbacks(transfer, in: multi)
  }

  private func setHeaders(_ easy: EasyHandle, _ transfer: Transfer, _ headers: HTTPHeaders) throws {
    try easy.setHeaders(headerLines(transfer, headers) + setAuthentication(easy, transfer, headers))
  }

  /// Sets the length of a body that became known after the request was prepared. The option for the length was read already, but libcurl
  /// reads the header fields only when it sends them.
  func setBodyLength(_ easy: EasyHandle, _ transfer: Transfer) throws {
    try setHeaders(easy, transfer, transfer.outgoingHeaders)
  }

  private func setPolicy(_ easy: EasyHandle) throws(CurlError) {
    try easy.set(.noSignal, to: 1)
    try easy.set(.pathAsIs, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.followLocation, to: 0)
    // Otherwise any protocol in which the server speaks first would pass as an HTTP/0.9 response.
    try easy.set(.http09Allowed, to: 0)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.tcpKeepAlive, to: 1)
    try easy.set(.userAgent, to: userAgent)
    // `TransferClock` has the timeouts, because libcurl's own would also run while a task is suspended.
    try easy.set(.connectTimeoutMilliseconds, to: 2_000_000_000)
  }

  private func setTLS(_ easy: EasyHandle, _ transfer: Transfer, _ multi: MultiHandle) throws {
    guard transfer.url.scheme == "https" else { return }
    let configuration = transfer.job.configuration
    try easy.setTLSVersions(
      minimum: configuration.tlsMinimumSupportedProtocolVersion.number,
      maximum: configuration.tlsMaximumSupportedProtocolVersion.number)
    try easy.setTLS(
      transfer.session.policy(
        for: transfer.url, certificate: transfer.login.certificate(at: transfer.url), asked: transfer.job,
        waitsAtEnd: transfer.connectsBeforeBody, in: multi))
  }

  private func setProxy(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let isSOCKS = transfer.proxy?.server.kind == .socks5
    // The scheme overrides CURLOPT_PROXYTYPE: socks5h lets the proxy resolve the origin's name.
    let proxy = transfer.proxy.map {
      isSOCKS ? $0.server.url.replacing("socks5:", with: "socks5h:") : $0.server.url
    }
    try easy.set(.proxy, to: proxy ?? "")  // An empty value makes libcurl ignore the environment.
    try easy.set(.noProxy, to: "")
    if isSOCKS { try easy.setSOCKSMethods() }
  }

  /// Sets the authentication of the request, and returns the header lines that belong to it.
  private func setAuthentication(
    _ easy: EasyHandle, _ transfer: Transfer, _ headers: HTTPHeaders
  ) throws(CurlError) -> [String] {
    var lines: [String] = []
    if let line = try authentication(easy, transfer, .server) { lines.append("Authorization: \(line)") }
    guard let proxy = transfer.proxy else { return lines }
    let isTunnel = proxy.server.kind == .http && transfer.url.scheme == "https"
    let own = isTunnel ? headers.single("Proxy-Authorization") : nil
    // A SOCKS proxy reads no header fields: its credentials are options of the handle.
    guard let line = try authentication(easy, transfer, .proxy) ?? own, proxy.server.kind == .http else {
      return lines
    }
    if isTunnel {
      try easy.setProxyHeaders(["Proxy-Authorization: \(line)"])
    } else {
      lines.append("Proxy-Authorization: \(line)")
    }
    return lines
  }

  private func authentication(
    _ easy: EasyHandle, _ transfer: Transfer, _ side: Authenticator.Side
  ) throws(CurlError) -> String? {
    guard let attempt = transfer.machine.authenticator.attempt(side) else { return nil }
    let isTunnel = side.wantsTunnel(to: transfer.url)
    let request = AuthorizedRequest(
      attempt: attempt, isProxy: side == .proxy, method: isTunnel ? "CONNECT" : transfer.request.method,
      target: isTunnel ? "\(transfer.url.host):\(transfer.url.port)" : transfer.url.requestTarget
    ) {
      isTunnel ? nil : transfer.digests.digest(of: transfer.request.body, for: attempt)
    }
    return try attempt.scheme?.authorize(request, with: easy)
  }

  private func setMethod(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let request = transfer.request
    switch (request.method, request.body) {
    case ("GET", nil): try easy.set(.httpGet, to: 1)
    case ("HEAD", nil):
      try easy.set(.noBody, to: 1)
      // The response ends with its head. libcurl would refuse a Content-Length that it cannot parse.
      try easy.set(.ignoreContentLength, to: 1)
    case (let method, nil) where method != "POST" && method != "PUT" && method != "PATCH":
      try easy.set(.customRequest, to: method)
    case (let method, _):
      try easy.set(.post, to: 1)
      try setBody(easy, transfer)
      if method != "POST" { try easy.set(.customRequest, to: method) }
    }
  }

  private func setBody(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let data = transfer.request.body?.data ?? []
    guard !transfer.lacksBody else { return try easy.setUpload(length: transfer.request.declaredLength) }
    guard let source = transfer.source else { return try easy.setBody(data) }
    transfer.isBodyCopied =
      data.count > 0 && data.count <= Self.copiedBodyLimit && !transfer.limits.areAny
    guard !transfer.isBodyCopied else { return try easy.setBody(data) }
    try easy.setUpload(length: source.length)
  }

  private static func isDecoded(_ transfer: Transfer, _ headers: HTTPHeaders) -> Bool {
    !headers.contains("Range") && transfer.machine.ranges.kept == nil
  }

  private func headerLines(_ transfer: Transfer, _ headers: HTTPHeaders) -> [String] {
    let isDecoded = Self.isDecoded(transfer, headers)
    let fields = headers.fields.filter { field in
      let isReplaced =
        HTTPHeaders.equal(field.name, "Authorization")
        && transfer.machine.authenticator.attempt(.server) != nil
        // libcurl gets the length of a stream as an option.
        || HTTPHeaders.equal(field.name, "Content-Length")
        // A field for the proxy must not reach an origin through a tunnel.
        || HTTPHeaders.equal(field.name, "Proxy-Authorization") && !transfer.sendsProxyFields
        || isDecoded && HTTPHeaders.equal(field.name, "Accept-Encoding")
      return !isReplaced
    }
    var lines = fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    if isDecoded {
      let asked = headers["Accept-Encoding"].flatMap { $0.isEmpty ? nil : $0 }
      lines.append("Accept-Encoding: \(asked ?? ContentDecoder.accepted)")
    }
    lines += (transfer.machine.upload?.fields ?? []).map { "\($0.name): \($0.value)" }
    lines.append("Expect:")  // libcurl would wait a second for servers that ignore it.
    let request = transfer.request
    // As URLSession: the body of a POST is a form unless the request has a Content-Type. Other bodies have no default type.
    let length = transfer.source?.length ?? request.body?.length ?? 0
    if !headers.contains("Content-Type"), request.method != "POST" || length == 0 || request.body?.file != nil
    {
      lines.append("Content-Type:")
    }
    // The first requests of a connection-based scheme have no body. libcurl adds the framing fields when the body follows.
    let scheme = transfer.machine.authenticator.attempt(.server)?.scheme
    if let source = transfer.source, scheme?.isConnectionBased != true {
      if let length = source.length {
        if transfer.connectsBeforeBody, request.declaredLength == nil {
          lines += ["Content-Length: \(length)", "Transfer-Encoding:"]
        }
      } else {
        lines.append("Transfer-Encoding: chunked")
      }
    }
    if let kept = transfer.machine.ranges.kept {
      lines += [
        "Range: bytes=\(kept.offset)-", "If-Range: \(kept.validator)", "Accept-Encoding: identity",
      ]
    }
    return lines
  }
}

extension TLSVersion {
  fileprivate var number: Int {
    switch self {
    case .v10: 10
    case .v11: 11
    case .v12: 12
    case .v13: 13
    }
  }
}
