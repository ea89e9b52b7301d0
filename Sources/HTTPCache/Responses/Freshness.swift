internal import HTTPDates
internal import HTTPFields
package import TransferModel

/// How old a stored response is, and how old it may become (RFC 9111 §4.2). In seconds.
package struct Freshness: Sendable, Equatable {
  package let lifetime: Double
  package let age: Double

  package init(of response: CachedResponse, at now: Timestamp) {
    lifetime = response.lifetime
    age = Self.currentAge(of: response, at: now)
  }

  package var isFresh: Bool { lifetime > age }
  /// Seconds since it became stale; negative while it is fresh.
  package var staleness: Double { age - lifetime }

  private static let maximumHeuristic = 86_400.0
  /// Statuses that may be kept without being told for how long (RFC 9110 §15.1).
  private static let heuristicStatuses: Set<Int> = [
    200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501,
  ]

  /// §4.2.1; `s-maxage` is for shared caches.
  static func lifetime(
    of headers: HTTPHeaders, _ control: CacheControl, status: Int, date: Timestamp, responseTime: Timestamp
  ) -> Double {
    if let maxAge = control.maxAge { return Double(maxAge) }
    let expires = headers.all("Expires")
    if let text = expires.first {
      // What is no date, above all "0", is in the past (§5.3); of several, none is believed.
      guard expires.count == 1, let end = HTTPDate.parse(text, now: responseTime) else { return 0 }
      return max(0, end.since(date))
    }
    return heuristicLifetime(of: headers, control, status: status, date: date) ?? 0
  }

  /// A tenth of the time since it was changed, at most a day (§4.2.2); nil where nothing can be said.
  static func heuristicLifetime(
    of headers: HTTPHeaders, _ control: CacheControl, status: Int, date: Timestamp
  ) -> Double? {
    guard heuristicStatuses.contains(status) || control.isPublic,
      let text = Validators.lastModified(headers), let modified = HTTPDate.parse(text, now: date),
      modified < date
    else { return nil }
    return min(date.since(modified) / 10, maximumHeuristic)
  }

  /// §4.2.3. A clock that was set back makes nothing younger than it was when it came.
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

  /// The first member of Age; what is no number is ignored (§5.1).
  private static func ageValue(_ headers: HTTPHeaders) -> Int64 {
    guard let field = headers.all("Age").first else { return 0 }
    return FieldList.first(of: field).flatMap(FieldList.seconds) ?? 0
  }
}
