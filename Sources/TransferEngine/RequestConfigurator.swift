internal import Curl
internal import TransferModel

/// Turns a request and its session's configuration into options of an easy handle.
struct RequestConfigurator {
  let userAgent: String
  let certificateAuthorityFile: String?

  /// Request bodies up to here are copied and go out with the head; larger ones are read as the origin takes them.
  private static let copiedBodyLimit = 64 * 1024
  private static let bufferSize = 100 * 1024

  /// Sets everything on a handle that was reset.
  func configure(_ easy: EasyHandle, for transfer: Transfer, multi: MultiHandle) throws(CurlError) {
    let (request, configuration) = (transfer.request, transfer.job.configuration)
    var defaults = configuration.httpAdditionalHeaders
    if transfer.hasLeftOrigin { for name in Redirect.credentialFields { defaults.remove(name) } }
    let headers = request.headers.merging(defaults: defaults)
    try easy.set(.url, to: transfer.url.text)
    try setPolicy(easy)
    try setMethod(easy, transfer)
    try easy.setHeaders(headerLines(transfer, headers))
    // What was asked for in whatever words is decoded (URLSession); a range is of the coded bytes.
    if !headers.contains("Range"), transfer.resumesAt == nil {
      try easy.set(.acceptEncoding, to: headers["Accept-Encoding"] ?? "")
    }
    try easy.set(.httpVersion, to: 4)  // CURL_HTTP_VERSION_2TLS
    try easy.set(.pipeWait, to: configuration.httpShouldUsePipelining ? 1 : 0)
    try easy.setTLSVersions(
      minimum: configuration.tlsMinimumSupportedProtocolVersion.number,
      maximum: configuration.tlsMaximumSupportedProtocolVersion.number)
    try easy.set(.bufferSize, to: transfer.isRateLimited ? 16 * 1024 : Self.bufferSize)
    try easy.setCallbacks(transfer, in: multi)
  }

  private func setPolicy(_ easy: EasyHandle) throws(CurlError) {
    try easy.set(.noSignal, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.followLocation, to: 0)
    try easy.set(.http09Allowed, to: 1)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.proxy, to: "")  // the environment's proxies are not ours
    try easy.set(.tcpKeepAlive, to: 1)
    try easy.set(.userAgent, to: userAgent)
    // The worker's own timers decide; libcurl's would run on while a task is suspended.
    try easy.set(.connectTimeoutMilliseconds, to: 2_000_000_000)
    try easy.setCertificateAuthorities(file: certificateAuthorityFile)
  }

  private func setMethod(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let request = transfer.request
    switch (request.method, request.body) {
    case ("GET", nil): try easy.set(.httpGet, to: 1)
    case ("HEAD", nil): try easy.set(.noBody, to: 1)
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
    guard let source = transfer.source else { return try easy.setBody(data) }
    if data.count > 0, data.count <= Self.copiedBodyLimit, !transfer.isRateLimited {
      return try easy.setBody(data)
    }
    try easy.setUpload(length: source.length)
  }

  private func headerLines(_ transfer: Transfer, _ headers: HTTPHeaders) -> [String] {
    let isDecoded = !headers.contains("Range") && transfer.resumesAt == nil
    let fields = headers.fields.filter { !isDecoded || !HTTPHeaders.equal($0.name, "Accept-Encoding") }
    var lines = fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    lines.append("Expect:")  // libcurl would wait a second for servers that ignore it
    let request = transfer.request
    // As URLSession: a POST's body is a form unless it says otherwise, and no other body has a type of its own.
    let length = transfer.source?.length ?? request.body?.length ?? 0
    if !headers.contains("Content-Type"), request.method != "POST" || length == 0 {
      lines.append("Content-Type:")
    }
    if let source = transfer.source, source.length == nil { lines.append("Transfer-Encoding: chunked") }
    if let offset = transfer.resumesAt, let point = transfer.job.resumePoint {
      lines += [
        "Range: bytes=\(offset)-", "If-Range: \(point.partial.validator)", "Accept-Encoding: identity",
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
