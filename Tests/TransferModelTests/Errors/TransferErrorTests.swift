import JSON
import Testing

@testable import TransferModel

@Suite struct TransferErrorTests {
  @Test(arguments: URLErrorCode.allCases)
  func urlErrorsRoundTrip(_ code: URLErrorCode) throws {
    let error = TransferError(
      code, "why \"not\"", failingURL: "http://a/?b", underlying: .init(library: "libcurl", code: 28))
    let json = try JSONParser.parse(error.json)
    #expect(TransferError(json: json) == error)
    #expect(json["domain"] == .string("NSURLErrorDomain"))
    #expect(json["code"] == .integer(Int64(code.rawValue)))
    #expect(json["name"] == .string("\(code)"))
    #expect(json["rule"] == nil)
  }

  @Test(arguments: FerryErrorCode.allCases)
  func ownErrorsRoundTrip(_ code: FerryErrorCode) throws {
    for rule in [nil, "loopback"] {
      let error = TransferError(code, "m", rule: rule)
      let json = try JSONParser.parse(error.json)
      #expect(TransferError(json: json) == error)
      #expect(json["domain"] == .string("FerryErrorDomain"))
      #expect(json["failingURL"] == .null)
      #expect(json["underlying"] == .null)
      #expect(json["rule"]?.string == rule)
    }
  }

  @Test(
    arguments: [
      ("{}", nil), ("null", nil), (#"{"code":"x"}"#, nil), (#"{"domain":"FerryErrorDomain","code":99}"#, nil),
      (#"{"domain":"NSURLErrorDomain","code":-1001}"#, .url(.timedOut)),
      (#"{"domain":"NSURLErrorDomain","code":-987654}"#, .url(.unknown)),
      (#"{"domain":"FerryErrorDomain","code":2}"#, .ferry(.quotaExceeded)),
    ] as [(String, TransferError.Reason?)])
  func `error of an old journal is read`(_ text: String, _ expected: TransferError.Reason?) throws {
    #expect(TransferError(json: try JSONParser.parse(Array(text.utf8)))?.reason == expected)
  }
}
