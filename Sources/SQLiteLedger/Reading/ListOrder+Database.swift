internal import TransferModel

extension ListOrder {
  /// Bytes that come before all ids in this order.
  var start: [UInt8] { self == .oldest ? [] : [UInt8](repeating: 0xFF, count: 17) }
}
