public import FoundationEssentials
internal import JSON

/// An error that ended a task. `URLError` in Apple's URLSession.
public struct FerryError: Error, Sendable, Hashable {
  /// The cause, with the numbers of `NSURLErrorDomain` and of `FerryErrorDomain`.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The number. Numbers of `FerryErrorDomain` are positive.
    public let rawValue: Int
    /// Creates the code of a number.
    public init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// The cause.
  public let code: Code
  /// An English text for logs.
  public let message: String
  /// The URL of the request that failed.
  public let failingURL: URL?
  /// The data for `FerrySession.downloadTask(withResumeData:)`; `nil` if the download cannot continue.
  public var downloadTaskResumeData: Data?
  /// The data for `FerrySession.uploadTask(withResumeData:)`; `nil` if the upload cannot continue.
  public var uploadTaskResumeData: Data?
  /// The response's status, if it is the cause (`Code.httpStatus`).
  public let statusCode: Int?

  /// Creates an error.
  public init(_ code: Code, message: String = "", failingURL: URL? = nil, statusCode: Int? = nil) {
    self.code = code
    self.message = message
    self.failingURL = failingURL
    self.statusCode = statusCode
  }

  /// The number of the cause.
  public var errorCode: Int { code.rawValue }
  /// `NSURLErrorDomain`, or `FerryErrorDomain` for causes without a number of Apple's.
  public var errorDomain: String { code.rawValue < 0 ? "NSURLErrorDomain" : "FerryErrorDomain" }
  /// An English text for people.
  public var localizedDescription: String { message.isEmpty ? "\(errorDomain) \(errorCode)" : message }

  /// Reads the member `error` of a task.
  init?(_ json: JSONValue?) {
    guard let json, let code = json["code"]?.integer else { return nil }
    self.init(
      Code(rawValue: Int(code)), message: json["message"]?.string ?? "",
      failingURL: json["failingURL"]?.string.flatMap { URL(string: $0) },
      statusCode: json["status"]?.integer.map { Int($0) })
  }
}

extension FerryError: LocalizedError {
  /// An English text for people, also for `localizedDescription` of `any Error`.
  public var errorDescription: String? { localizedDescription }
  /// The domain of the error as `NSError`.
  public var _domain: String { errorDomain }
  /// The code of the error as `NSError`.
  public var _code: Int { errorCode }
  /// `NSURLErrorDomain`, the domain of the codes of Apple.
  public static var errorDomain: String { "NSURLErrorDomain" }
}

extension FerryError: CustomStringConvertible {
  /// The domain, the number and the message.
  public var description: String { "\(errorDomain) \(errorCode): \(message)" }
}

extension FerryError.Code {
  /// The cause is not known.
  public static let unknown = Self(rawValue: -1)
  /// The task was cancelled.
  public static let cancelled = Self(rawValue: -999)
  /// The URL is malformed.
  public static let badURL = Self(rawValue: -1000)
  /// The origin was silent for too long, or the task took too long.
  public static let timedOut = Self(rawValue: -1001)
  /// Ferry does not support the URL's scheme, or the resume data is invalid.
  public static let unsupportedURL = Self(rawValue: -1002)
  /// The host's name cannot be resolved.
  public static let cannotFindHost = Self(rawValue: -1003)
  /// The origin refuses connections.
  public static let cannotConnectToHost = Self(rawValue: -1004)
  /// The connection was lost during the transfer.
  public static let networkConnectionLost = Self(rawValue: -1005)
  /// The name server failed.
  public static let dnsLookupFailed = Self(rawValue: -1006)
  /// There were too many redirects.
  public static let httpTooManyRedirects = Self(rawValue: -1007)
  /// The resource is unavailable.
  public static let resourceUnavailable = Self(rawValue: -1008)
  /// There is no usable network.
  public static let notConnectedToInternet = Self(rawValue: -1009)
  /// The redirect has no valid location.
  public static let redirectToNonExistentLocation = Self(rawValue: -1010)
  /// The response is malformed.
  public static let badServerResponse = Self(rawValue: -1011)
  /// The delegate cancelled a challenge.
  public static let userCancelledAuthentication = Self(rawValue: -1012)
  /// The origin requires a login.
  public static let userAuthenticationRequired = Self(rawValue: -1013)
  /// The response's content coding, such as gzip, cannot be decoded.
  public static let cannotDecodeRawData = Self(rawValue: -1015)
  /// The response's content cannot be decoded. Ferry reports `cannotDecodeRawData`.
  public static let cannotDecodeContentData = Self(rawValue: -1016)
  /// The response cannot be parsed.
  public static let cannotParseResponse = Self(rawValue: -1017)
  /// The body's stream has ended or failed.
  public static let requestBodyStreamExhausted = Self(rawValue: -1021)
  /// A redirect from https to http is not allowed.
  public static let appTransportSecurityRequiresSecureConnection = Self(rawValue: -1022)
  /// The file to upload does not exist.
  public static let fileDoesNotExist = Self(rawValue: -1100)
  /// The file to upload cannot be read.
  public static let noPermissionsToReadFile = Self(rawValue: -1102)
  /// The body exceeds the limit, or the method has no body.
  public static let dataLengthExceedsMaximum = Self(rawValue: -1103)
  /// The TLS connection failed.
  public static let secureConnectionFailed = Self(rawValue: -1200)
  /// The server's certificate has expired.
  public static let serverCertificateHasBadDate = Self(rawValue: -1201)
  /// The server's certificate is not trusted.
  public static let serverCertificateUntrusted = Self(rawValue: -1202)
  /// The server's certificate has an unknown certificate authority.
  public static let serverCertificateHasUnknownRoot = Self(rawValue: -1203)
  /// The server's certificate is not valid yet.
  public static let serverCertificateNotYetValid = Self(rawValue: -1204)
  /// The server refused the client's certificate.
  public static let clientCertificateRejected = Self(rawValue: -1205)
  /// The server requires a certificate of the client.
  public static let clientCertificateRequired = Self(rawValue: -1206)
  /// The cache has no response, and the request may not use the network.
  public static let cannotLoadFromNetwork = Self(rawValue: -2000)
  /// The file of a download cannot be created.
  public static let cannotCreateFile = Self(rawValue: -3000)
  /// The file of a download cannot be written.
  public static let cannotWriteToFile = Self(rawValue: -3003)

  /// The operator's rules refuse the origin's network address.
  public static let destinationNotPermitted = Self(rawValue: 1)
  /// The tenant has reached its quota.
  public static let quotaExceeded = Self(rawValue: 2)
  /// The body exceeds the operator's limit.
  public static let bodyTooLarge = Self(rawValue: 3)
  /// All attempts have failed.
  public static let attemptLimitReached = Self(rawValue: 4)
  /// The size or digest of the body differs from `FerrySessionTask.expected`.
  public static let contentMismatch = Self(rawValue: 5)
  /// The file at the task's destination cannot be written.
  public static let destinationFailed = Self(rawValue: 6)
  /// The response's status is 400 or more, and `FerrySessionTask.failOnStatus` is set.
  public static let httpStatus = Self(rawValue: 7)
  /// The Ferry service cannot be reached.
  public static let serviceUnreachable = Self(rawValue: 100)
  /// The Ferry service refused a request. The message has the field at fault and the remedy.
  public static let serviceRefused = Self(rawValue: 101)
}
