internal import HTTPDates
internal import HTTPFields
package import TransferModel

/// The age and the freshness lifetime of a stored response, in seconds (RFC 9111 §4.2).
package struct Freshness: Sendable, Equatable {
  package let lifetime: Double
  package let age: Double

  package init(of response: CachedResponse, at now: Timestamp) {
    lifetime = response.lifetime
    age = Self.currentAge(of: response, at: now)
  }

  package var isFresh: Bool { lifetime > age }
  /// The seconds since the response became stale; negative if it is fresh.
  package var staleness: Double { age - lifetime }

  private static let maximumHeuristic = 86_400.0
  /// The statuses whose responses may be stored without an explicit lifetime (RFC 9110 §15.1).
  private static let heuristicStatuses: Set<Int> = [
    200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501,
  ]

  /// Returns the freshness lifetime (§4.2.1). `s-maxage` is ignored, because this is a private cache.
  static func lifetime(
    of headers: HTTPHeaders, _ control: CacheControl, status: Int, date: Timestamp, responseTime: Timestamp
  ) -> Double {
    if let maxAge = control.maxAge { return Double(maxAge) }
    let expires = headers.all("Expires")
    if let text = expires.first {
      // An invalid date, above all "0", means already expired (§5.3). So do several Expires fields.
      guard expires.count == 1, let end = HTTPDate.parse(text, now: responseTime) else { return 0 }
      return max(0, end.since(date))
    }
    return heuristicLifetime(of: headers, control, status: status, date: date) ?? 0
  }

  /// Returns a tenth of the time since the last modification, at most a day (§4.2.2); `nil` if no heuristic applies.
  static func heuristicLifetime(
    of headers: HTTPHeaders, _ control: CacheControl, status: Int, date: Timestamp
  ) -> Double? {
    guard heuristicStatuses.contains(status) || control.isPublic,
      let text = Validators.lastModified(headers), let modified = HTTPDate.parse(text, now: date),
      modified < date
    else { return nil }
    return min(date.since(modified) / 10, maximumHeuristic)
  }

  /// Returns the current age (§4.2.3). If the clock was set back, the age does not fall below the initial age.
  package static func currentAge(of response: CachedResponse, at now: Timestamp) -> Double {
    let residentTime = max(0, now.since(response.responseTime))
    return response.initialAge + residentTime
  }

  static func initialAge(
    of headers: HTTPHeaders, date: Timestamp, requestTime: Timestamp, responseTime: Timestamp
  ) -> Double {
    let apparentAge = max(0, responseTime.since(date))
    let responseDelay = responseTime.since(requestTime)
    let correctedAgeValue = Double(ageValue(headers)) + max(0, responseDelay)
    return max(apparentAge, correctedAgeValue)
  }

  /// Returns the first member of Age. Invalid values are ignored (§5.1).
  private static func ageValue(_ headers: HTTPHeaders) -> Int64 {
    guard let field = headers.all("Age").first else { return 0 }
    return FieldList.first(of: field).flatMap(FieldList.seconds) ?? 0
  }
}
