internal import TransferModel

extension ListOrder {
  /// How much older than its row an id may be, in seconds. The row of a task follows when its body is stored.
  private static let idLead = 3600.0

  /// Bytes that come before all ids in this order.
  var start: [UInt8] { self == .oldest ? [] : [UInt8](repeating: 0xFF, count: 17) }

  /// Returns the ids that may be on a page, both ends included. Ids grow with time.
  /// - Parameters:
  ///   - ids: the wanted ids.
  ///   - since: the earliest time of creation.
  func range<Kind>(
    of ids: ClosedRange<ID<Kind>>, after: ID<Kind>?, since: Timestamp?
  ) -> (low: ID<Kind>, high: ID<Kind>) {
    var (low, high) = (ids.lowerBound, ids.upperBound)
    if let since {
      low = max(low, ID(at: since.adding(seconds: -Self.idLead), random: (0, 0)).earliest)
    }
    switch (after, self) {
    case (nil, _): break
    case (let after?, .oldest): low = max(low, after.next)
    case (let after?, .newest): high = min(high, after.previous)
    }
    return (low, high)
  }
}

extension ID {
  /// The lowest value of the same time.
  fileprivate var earliest: Self { Self(high: high, low: 0) }
  fileprivate var next: Self { low == .max ? Self(high: high &+ 1, low: 0) : Self(high: high, low: low + 1) }
  fileprivate var previous: Self {
    low == 0 ? Self(high: high &- 1, low: .max) : Self(high: high, low: low - 1)
  }
}
