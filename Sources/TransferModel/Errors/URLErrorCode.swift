/// The codes of NSURLErrorDomain that a transfer can end with (Apple, NSURLError.h).
package enum URLErrorCode: Int, Sendable, CaseIterable {
  case unknown = -1
  case cancelled = -999
  case badURL = -1000
  case timedOut = -1001
  case unsupportedURL = -1002
  case cannotFindHost = -1003
  case cannotConnectToHost = -1004
  case networkConnectionLost = -1005
  case dnsLookupFailed = -1006
  case httpTooManyRedirects = -1007
  case resourceUnavailable = -1008
  case notConnectedToInternet = -1009
  case redirectToNonExistentLocation = -1010
  case badServerResponse = -1011
  case userCancelledAuthentication = -1012
  case userAuthenticationRequired = -1013
  case zeroByteResource = -1014
  case cannotDecodeRawData = -1015
  case cannotDecodeContentData = -1016
  case cannotParseResponse = -1017
  case dataNotAllowed = -1020
  case requestBodyStreamExhausted = -1021
  case appTransportSecurityRequiresSecureConnection = -1022
  case fileDoesNotExist = -1100
  case fileIsDirectory = -1101
  case noPermissionsToReadFile = -1102
  case dataLengthExceedsMaximum = -1103
  case secureConnectionFailed = -1200
  case serverCertificateHasBadDate = -1201
  case serverCertificateUntrusted = -1202
  case serverCertificateHasUnknownRoot = -1203
  case serverCertificateNotYetValid = -1204
  case clientCertificateRejected = -1205
  case clientCertificateRequired = -1206
  case cannotLoadFromNetwork = -2000
  case cannotCreateFile = -3000
  case cannotOpenFile = -3001
  case cannotCloseFile = -3002
  case cannotWriteToFile = -3003
  case cannotRemoveFile = -3004
  case cannotMoveFile = -3005
  case downloadDecodingFailedMidStream = -3006
  case downloadDecodingFailedToComplete = -3007
}

/// The codes of FerryErrorDomain, for errors without a code of Apple's.
package enum FerryErrorCode: Int, Sendable, CaseIterable {
  case destinationNotPermitted = 1
  case quotaExceeded = 2
  case bodyTooLarge = 3
  case attemptLimitReached = 4
  /// The body is not the expected one.
  case contentMismatch = 5
  /// The download cannot become the file of its destination.
  case destinationFailed = 6
  /// The task does not accept the response's status.
  case httpStatus = 7
}
