internal import HTTPFields
package import TransferModel

extension TransferResponse: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    var response = TransferResponse(
      url: try coder.required("url", value?.url), status: try coder.required("status", value?.status),
      headers: try coder.member("headers", value?.headers, else: HTTPHeaders()),
      expectedContentLength: try coder.member(
        "expectedContentLength", value?.expectedContentLength, else: -1),
      httpVersion: try coder.member("httpVersion", value?.httpVersion, else: ""))
    response.fromCache = try coder.member("fromCache", value?.fromCache, else: false)
    return response
  }
}

extension TransferError: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let url: URLErrorCode? = try coder.optional("url", value?.urlCode)
    let ferry: FerryErrorCode? = try coder.optional("ferry", value?.ferryCode)
    var error: TransferError
    switch (url, ferry) {
    case (let code?, nil): error = TransferError(code, "")
    case (nil, let code?): error = TransferError(code, "")
    default: throw coder.fault("url", "must be there, or `ferry`")
    }
    error.message = try coder.member("message", value?.message, else: "")
    error.failingURL = try coder.optional("failingURL", value?.failingURL)
    error.underlying = try coder.optional("underlying", value?.underlying)
    error.rule = try coder.optional("rule", value?.rule)
    error.networkUnavailableReason = try coder.optional(
      "networkUnavailableReason", value?.networkUnavailableReason)
    error.status = try coder.optional("status", value?.status)
    error.resumeDataAvailable = try coder.member(
      "resumeDataAvailable", value?.resumeDataAvailable, else: false)
    return error
  }

  private var urlCode: URLErrorCode? { if case .url(let code) = reason { code } else { nil } }
  private var ferryCode: FerryErrorCode? { if case .ferry(let code) = reason { code } else { nil } }
}

extension TransferError.Underlying: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    Self(
      library: try coder.required("library", value?.library), code: try coder.required("code", value?.code))
  }
}
