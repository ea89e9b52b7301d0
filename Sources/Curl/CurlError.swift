internal import CCurl

/// libcurl's result of a transfer (`CURLcode`).
package struct CurlResult: Sendable, Equatable {
  package let code: Int
  package init(code: Int) { self.code = code }

  /// libcurl's description (`curl_easy_strerror`).
  package var reason: String { String(cString: curl_easy_strerror(CURLcode(UInt32(code)))) }

  package static let ok = CurlResult(code: 0)
  package static let unsupportedProtocol = CurlResult(code: 1)
  package static let malformedURL = CurlResult(code: 3)
  package static let couldntResolveProxy = CurlResult(code: 5)
  package static let couldntResolveHost = CurlResult(code: 6)
  package static let couldntConnect = CurlResult(code: 7)
  package static let weirdServerReply = CurlResult(code: 8)
  package static let http2 = CurlResult(code: 16)
  package static let partialFile = CurlResult(code: 18)
  package static let writeError = CurlResult(code: 23)
  package static let outOfMemory = CurlResult(code: 27)
  package static let operationTimedOut = CurlResult(code: 28)
  package static let sslConnectError = CurlResult(code: 35)
  package static let abortedByCallback = CurlResult(code: 42)
  package static let tooManyRedirects = CurlResult(code: 47)
  package static let gotNothing = CurlResult(code: 52)
  package static let badFunctionArgument = CurlResult(code: 43)
  package static let sendFailRewind = CurlResult(code: 65)
  package static let sendError = CurlResult(code: 55)
  package static let recvError = CurlResult(code: 56)
  package static let sslCertificateProblem = CurlResult(code: 58)
  package static let sslCipher = CurlResult(code: 59)
  package static let peerFailedVerification = CurlResult(code: 60)
  package static let badContentEncoding = CurlResult(code: 61)
  package static let http2Stream = CurlResult(code: 92)
  package static let proxy = CurlResult(code: 97)
  package static let tooLarge = CurlResult(code: 100)
}

/// An operation that libcurl refused.
package struct CurlError: Error, Sendable, CustomStringConvertible {
  package let result: CurlResult
  package let operation: String
  package var description: String { "\(operation) failed (CURLcode \(result.code))" }
}

/// libcurl's error of a SOCKS handshake (`CURLproxycode`).
package struct CurlProxyError: RawRepresentable, Sendable, Equatable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// The proxy requires a user and password, or an unknown method.
  package static let noAuth = CurlProxyError(rawValue: 12)
  package static let userRejected = CurlProxyError(rawValue: 33)
}
