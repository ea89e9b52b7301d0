internal import ContentCoding
internal import Curl
internal import CLinux
internal import Glibc
internal import TransferModel

extension Transfer {
  /// libcurl's failure in URLSession's words, or Ferry's own where Ferry caused it.
  /// - Parameter easy: nil where it never came to libcurl.
  func failure(_ result: CurlResult, _ easy: EasyHandle?) -> TransferError {
    if let rule = gate.refusedRule, result == .couldntConnect || result == .abortedByCallback {
      return TransferError(
        .destinationNotPermitted, "destination not permitted", failingURL: request.url, rule: rule)
    }
    if let error = networkFailure(result) { return error }
    if result == .abortedByCallback, let fault = (source as? UploadStream)?.fault {
      return TransferError(.requestBodyStreamExhausted, fault.description, failingURL: request.url)
    }
    if result == .couldntConnect, easy?.lacksDescriptor == true {
      return TransferError(
        .cannotConnectToHost, "no descriptor is left for a connection", failingURL: request.url,
        underlying: .init(library: "posix", code: Int(EMFILE)))
    }
    if refusesRepeat, result == .abortedByCallback {
      return TransferError(
        .networkConnectionLost,
        "the connection was lost before an answer came; a \(request.method) is not sent twice",
        failingURL: request.url)
    }
    if sink?.isTooLarge == true {
      return TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: request.url)
    }
    if let fault = content.fault { return contentFailure(fault) }
    if let error = proxyFailure(result, easy) { return error }
    if head == nil, let error = headFailure(result, easy) { return error }
    if multipart?.isMalformed == true {
      return TransferError(.cannotParseResponse, "the multipart answer is malformed", failingURL: request.url)
    }
    return FailureMapping.error(
      FailureMapping.Cause(
        result: result, message: easy?.errorMessage ?? "", receivedHead: response != nil,
        receivedBytes: sink?.size ?? 0, verifyResult: easy?.info(.sslVerifyResult) ?? 0,
        alert: easy?.tlsAlert ?? 0,
        errno: easy?.info(.osErrno) ?? 0),
      url: request.url)
  }

  /// What libcurl tells of a head in other words, or not at all.
  private func headFailure(_ result: CurlResult, _ easy: EasyHandle?) -> TransferError? {
    let underlying = TransferError.Underlying(library: "libcurl", code: result.code)
    // An end within a head is none to libcurl: closing is how HTTP/1.0 ends an answer.
    if result == .ok {
      return TransferError(
        .networkConnectionLost, "the connection was lost within the head of the answer",
        failingURL: request.url, underlying: underlying)
    }
    // Nobody asks for transfer codings; libcurl 8 refuses them at the head.
    if result == .badContentEncoding {
      return TransferError(
        .cannotParseResponse, "the answer has a transfer coding that nobody asked for",
        failingURL: request.url, underlying: underlying)
    }
    // A fresh handle of 7.88 refuses a head that begins with a folded field in these words.
    if result == .badFunctionArgument {
      return TransferError(
        .cannotParseResponse, "the head of the answer is malformed", failingURL: request.url,
        underlying: underlying)
    }
    // It takes 100 KiB for a line and 300 KiB for a head.
    guard
      [.outOfMemory, .tooLarge].contains(result)
        || result == .recvError && easy?.info(.headerSize) ?? 0 > 300 * 1024
    else {
      return nil
    }
    return TransferError(
      .cannotParseResponse, "the head of the answer is too large", failingURL: request.url,
      underlying: underlying)
  }

  /// The content of an answer cannot be decoded, in the words that libcurl has for it.
  func contentFailure(_ fault: ContentDecoder.Fault) -> TransferError {
    FailureMapping.error(
      FailureMapping.Cause(
        result: fault == .outOfMemory ? .outOfMemory : .badContentEncoding,
        message: fault == .outOfMemory ? "out of memory" : "malformed",
        receivedHead: response != nil),
      url: request.url)
  }
}
