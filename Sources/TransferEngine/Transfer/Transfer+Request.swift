internal import Addresses
internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// The content of a transfer's next request.
extension Transfer {
  /// The part of the stored file that the request sends.
  var bodyRange: Range<Int64> { machine.upload?.range ?? 0..<(request.body?.length ?? 0) }

  /// The algorithm by which the stored file must be digested before the request is sent; `nil` if no digest is missing.
  var missingDigest: DigestAuthentication.Algorithm? {
    digests.missing(of: request.body, for: machine.authenticator, at: url)
  }

  var cachePolicy: CachePolicy { request.cachePolicy ?? job.configuration.requestCachePolicy }

  /// The header fields to send, without those that the authenticator adds.
  var outgoingHeaders: HTTPHeaders { headers(with: machine.cache?.fields ?? []) }

  /// - Parameter fields: The header fields that the cache adds.
  func headers(with fields: [HTTPHeaders.Field]) -> HTTPHeaders {
    var defaults = job.configuration.httpAdditionalHeaders
    if wasRedirectedCrossOrigin { defaults.removeSecrets(and: job.configuration.secretHeaderFields) }
    var headers = request.headers.merging(defaults: defaults)
    if !headers.contains("Cookie"),
      let cookies = context.settings.storages.cookies.header(
        for: request, at: url, of: job, now: context.settings.now())
    {
      headers.append("Cookie", cookies)
    }
    if machine.withholdsExpect { headers.remove("Expect") }
    for field in fields { headers.append(field.name, field.value) }
    return headers
  }

  /// Whether the client's own `Proxy-Authorization` is sent with the request's other fields.
  var sendsProxyFields: Bool {
    guard let proxy else { return job.configuration.proxies.isEmpty }
    return proxy.server.kind == .http && url.scheme == "http" && machine.authenticator.attempt(.proxy) == nil
  }

  /// The classes of interfaces that both the session and the request allow.
  var allowedClasses: InterfaceClasses {
    let access = job.configuration.networkAccess.intersection(request.networkAccess)
    return InterfaceClasses(
      cellular: access.allowsCellularAccess, expensive: access.allowsExpensiveNetworkAccess,
      constrained: access.allowsConstrainedNetworkAccess)
  }

  /// The request's network service type, or the session's if the request has none.
  var networkServiceType: NetworkServiceType {
    request.networkServiceType ?? job.configuration.networkServiceType
  }

  /// The request as it was sent.
  var asked: TransferMachine.Request {
    TransferMachine.Request(
      request: request, url: url, proxy: proxy, sharedConfiguration: job.sharedConfiguration,
      asksForRedirects: job.delegate?.asksForRedirects == true)
  }
}
