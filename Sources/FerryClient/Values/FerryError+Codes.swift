/// The codes as members of the error itself, as in `catch FerryError.timedOut`.
extension FerryError {
  /// `Code.unknown`.
  public static var unknown: Code { .unknown }
  /// `Code.cancelled`.
  public static var cancelled: Code { .cancelled }
  /// `Code.badURL`.
  public static var badURL: Code { .badURL }
  /// `Code.timedOut`.
  public static var timedOut: Code { .timedOut }
  /// `Code.unsupportedURL`.
  public static var unsupportedURL: Code { .unsupportedURL }
  /// `Code.cannotFindHost`.
  public static var cannotFindHost: Code { .cannotFindHost }
  /// `Code.cannotConnectToHost`.
  public static var cannotConnectToHost: Code { .cannotConnectToHost }
  /// `Code.networkConnectionLost`.
  public static var networkConnectionLost: Code { .networkConnectionLost }
  /// `Code.dnsLookupFailed`.
  public static var dnsLookupFailed: Code { .dnsLookupFailed }
  /// `Code.httpTooManyRedirects`.
  public static var httpTooManyRedirects: Code { .httpTooManyRedirects }
  /// `Code.resourceUnavailable`.
  public static var resourceUnavailable: Code { .resourceUnavailable }
  /// `Code.notConnectedToInternet`.
  public static var notConnectedToInternet: Code { .notConnectedToInternet }
  /// `Code.redirectToNonExistentLocation`.
  public static var redirectToNonExistentLocation: Code { .redirectToNonExistentLocation }
  /// `Code.badServerResponse`.
  public static var badServerResponse: Code { .badServerResponse }
  /// `Code.userCancelledAuthentication`.
  public static var userCancelledAuthentication: Code { .userCancelledAuthentication }
  /// `Code.userAuthenticationRequired`.
  public static var userAuthenticationRequired: Code { .userAuthenticationRequired }
  /// `Code.cannotDecodeRawData`.
  public static var cannotDecodeRawData: Code { .cannotDecodeRawData }
  /// `Code.cannotDecodeContentData`.
  public static var cannotDecodeContentData: Code { .cannotDecodeContentData }
  /// `Code.cannotParseResponse`.
  public static var cannotParseResponse: Code { .cannotParseResponse }
  /// `Code.requestBodyStreamExhausted`.
  public static var requestBodyStreamExhausted: Code { .requestBodyStreamExhausted }
  /// `Code.appTransportSecurityRequiresSecureConnection`.
  public static var appTransportSecurityRequiresSecureConnection: Code {
    .appTransportSecurityRequiresSecureConnection
  }
  /// `Code.fileDoesNotExist`.
  public static var fileDoesNotExist: Code { .fileDoesNotExist }
  /// `Code.noPermissionsToReadFile`.
  public static var noPermissionsToReadFile: Code { .noPermissionsToReadFile }
  /// `Code.dataLengthExceedsMaximum`.
  public static var dataLengthExceedsMaximum: Code { .dataLengthExceedsMaximum }
  /// `Code.secureConnectionFailed`.
  public static var secureConnectionFailed: Code { .secureConnectionFailed }
  /// `Code.serverCertificateHasBadDate`.
  public static var serverCertificateHasBadDate: Code { .serverCertificateHasBadDate }
  /// `Code.serverCertificateUntrusted`.
  public static var serverCertificateUntrusted: Code { .serverCertificateUntrusted }
  /// `Code.serverCertificateHasUnknownRoot`.
  public static var serverCertificateHasUnknownRoot: Code { .serverCertificateHasUnknownRoot }
  /// `Code.serverCertificateNotYetValid`.
  public static var serverCertificateNotYetValid: Code { .serverCertificateNotYetValid }
  /// `Code.clientCertificateRejected`.
  public static var clientCertificateRejected: Code { .clientCertificateRejected }
  /// `Code.clientCertificateRequired`.
  public static var clientCertificateRequired: Code { .clientCertificateRequired }
  /// `Code.cannotLoadFromNetwork`.
  public static var cannotLoadFromNetwork: Code { .cannotLoadFromNetwork }
  /// `Code.cannotCreateFile`.
  public static var cannotCreateFile: Code { .cannotCreateFile }
  /// `Code.cannotWriteToFile`.
  public static var cannotWriteToFile: Code { .cannotWriteToFile }
  /// `Code.destinationNotPermitted`.
  public static var destinationNotPermitted: Code { .destinationNotPermitted }
  /// `Code.quotaExceeded`.
  public static var quotaExceeded: Code { .quotaExceeded }
  /// `Code.bodyTooLarge`.
  public static var bodyTooLarge: Code { .bodyTooLarge }
  /// `Code.attemptLimitReached`.
  public static var attemptLimitReached: Code { .attemptLimitReached }
  /// `Code.contentMismatch`.
  public static var contentMismatch: Code { .contentMismatch }
  /// `Code.destinationFailed`.
  public static var destinationFailed: Code { .destinationFailed }
  /// `Code.httpStatus`.
  public static var httpStatus: Code { .httpStatus }
  /// `Code.serviceUnreachable`.
  public static var serviceUnreachable: Code { .serviceUnreachable }
  /// `Code.serviceRefused`.
  public static var serviceRefused: Code { .serviceRefused }
}

/// Matches an error by its code, in `catch` and `case`.
public func ~= (code: FerryError.Code, error: any Error) -> Bool { (error as? FerryError)?.code == code }
