package import Addresses
package import HTTPCookies
package import HTTPFields
package import JSON
package import TransferModel

// Values that are stored as scalars or plain lists.

extension ID: RecordText {}
extension BlobStamp: RecordText {}

/// Stored as microseconds since 1970.
extension Timestamp: RecordValue {
  package func write(to coder: inout RecordCoder) { microseconds.write(to: &coder) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> Timestamp {
    Timestamp(microseconds: try Int64.read(json))
  }
}

/// Stored as alternating names and values, in order. A name may occur more than once.
extension HTTPHeaders: RecordValue {
  package func write(to coder: inout RecordCoder) {
    fields.flatMap { [$0.name, $0.value] }.write(to: &coder)
  }
  package static func read(_ json: JSONValue) throws(RecordFault) -> HTTPHeaders {
    let texts = try [String].read(json)
    guard texts.count.isMultiple(of: 2) else { throw RecordFault("has a name without a value") }
    var headers = HTTPHeaders()
    for place in stride(from: 0, to: texts.count, by: 2) { headers.append(texts[place], texts[place + 1]) }
    return headers
  }
}

/// Stored as its bits.
extension InterfaceClasses: RecordValue {
  package func write(to coder: inout RecordCoder) { Int(rawValue).write(to: &coder) }
  package static func read(_ json: JSONValue) throws(RecordFault) -> InterfaceClasses {
    guard let bits = RawValue(exactly: try Int.read(json)) else { throw RecordFault("is not a known value") }
    return InterfaceClasses(rawValue: bits)
  }
}

extension AuthenticationMethod: RecordValue {}
extension CachePolicy: RecordValue {}
extension CacheStoragePolicy: RecordValue {}
extension Cookie.SameSite: RecordValue {}
extension CookieAcceptPolicy: RecordValue {}
extension Credential.Persistence: RecordValue {}
extension DeliveryOrder: RecordValue {}
extension EventType: RecordValue {}
extension FerryErrorCode: RecordValue {}
extension NetworkServiceType: RecordValue {}
extension SessionDelegate.Challenges: RecordValue {}
extension SessionType: RecordValue {}
extension SignatureScheme: RecordValue {}
extension TaskPhase: RecordValue {}
extension TLSVersion: RecordValue {}
extension URLErrorCode: RecordValue {}
