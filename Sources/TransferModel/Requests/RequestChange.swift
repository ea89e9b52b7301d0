package import HTTPFields

/// A client's change of a task's request. Its members replace those of the request that attempts begin with.
package struct RequestChange: Sendable, Equatable {
  package var url: String
  package var headers: HTTPHeaders
  /// The user and password for the URL. Never shown to clients.
  package var credential: Credential?

  package init(url: String, headers: HTTPHeaders, credential: Credential?) {
    self.url = url
    self.headers = headers
    self.credential = credential
  }

  package func applied(to request: TransferRequest) -> TransferRequest {
    var request = request
    (request.url, request.headers, request.credential) = (url, headers, credential)
    return request
  }
}

/// The request that the attempts of a task begin with, in place of the original one. A client or the delegate has supplied it.
package struct StartRequest: Sendable, Equatable {
  package var request: TransferRequest
  /// The number of changes by the client.
  package var changes = 0

  package init(_ request: TransferRequest) { self.request = request }
}

extension ResumePoint {
  /// The same point for another URL; `nil` if there is none. The kept bytes of a download fit if the validator matches. The server of an
  /// upload knows the received bytes only under its own URL.
  package var moved: ResumePoint? {
    guard var point = download else { return nil }
    point.partial.resource = nil
    return .download(point)
  }
}
