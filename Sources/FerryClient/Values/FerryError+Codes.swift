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

// Codes of Apple that Ferry does not report. A program may compare with them.

extension FerryError.Code {
  /// The network allows no data. Ferry does not report it.
  public static let dataNotAllowed = Self(rawValue: -1020)
  /// The network allows no roaming. Ferry does not report it.
  public static let internationalRoamingOff = Self(rawValue: -1018)
  /// A call uses the network. Ferry does not report it.
  public static let callIsActive = Self(rawValue: -1019)
  /// A background session needs a shared container. Ferry does not report it.
  public static let backgroundSessionRequiresSharedContainer = Self(rawValue: -995)
  /// Another process uses the background session. Ferry does not report it.
  public static let backgroundSessionInUseByAnotherProcess = Self(rawValue: -996)
  /// The background session was disconnected. Ferry does not report it.
  public static let backgroundSessionWasDisconnected = Self(rawValue: -997)
  /// The resource is empty. Ferry does not report it.
  public static let zeroByteResource = Self(rawValue: -1014)
  /// The file is a directory. Ferry does not report it.
  public static let fileIsDirectory = Self(rawValue: -1101)
  /// The file cannot be opened. Ferry does not report it.
  public static let cannotOpenFile = Self(rawValue: -3001)
  /// The file cannot be closed. Ferry does not report it.
  public static let cannotCloseFile = Self(rawValue: -3002)
  /// The file cannot be removed. Ferry does not report it.
  public static let cannotRemoveFile = Self(rawValue: -3004)
  /// The file cannot be moved. Ferry does not report it.
  public static let cannotMoveFile = Self(rawValue: -3005)
  /// The download cannot be decoded in its middle. Ferry does not report it.
  public static let downloadDecodingFailedMidStream = Self(rawValue: -3006)
  /// The download cannot be decoded at its end. Ferry does not report it.
  public static let downloadDecodingFailedToComplete = Self(rawValue: -3007)
}

extension FerryError {
  /// `Code.dataNotAllowed`.
  public static var dataNotAllowed: Code { .dataNotAllowed }
  /// `Code.internationalRoamingOff`.
  public static var internationalRoamingOff: Code { .internationalRoamingOff }
  /// `Code.callIsActive`.
  public static var callIsActive: Code { .callIsActive }
  /// `Code.backgroundSessionRequiresSharedContainer`.
  public static var backgroundSessionRequiresSharedContainer: Code {
    .backgroundSessionRequiresSharedContainer
  }
  /// `Code.backgroundSessionInUseByAnotherProcess`.
  public static var backgroundSessionInUseByAnotherProcess: Code { .backgroundSessionInUseByAnotherProcess }
  /// `Code.backgroundSessionWasDisconnected`.
  public static var backgroundSessionWasDisconnected: Code { .backgroundSessionWasDisconnected }
  /// `Code.zeroByteResource`.
  public static var zeroByteResource: Code { .zeroByteResource }
  /// `Code.fileIsDirectory`.
  public static var fileIsDirectory: Code { .fileIsDirectory }
  /// `Code.cannotOpenFile`.
  public static var cannotOpenFile: Code { .cannotOpenFile }
  /// `Code.cannotCloseFile`.
  public static var cannotCloseFile: Code { .cannotCloseFile }
  /// `Code.cannotRemoveFile`.
  public static var cannotRemoveFile: Code { .cannotRemoveFile }
  /// `Code.cannotMoveFile`.
  public static var cannotMoveFile: Code { .cannotMoveFile }
  /// `Code.downloadDecodingFailedMidStream`.
  public static var downloadDecodingFailedMidStream: Code { .downloadDecodingFailedMidStream }
  /// `Code.downloadDecodingFailedToComplete`.
  public static var downloadDecodingFailedToComplete: Code { .downloadDecodingFailedToComplete }
}
