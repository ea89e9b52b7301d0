/// Sizes and durations for people.
enum Quantities {
  /// Returns a size such as `12.3 MiB`.
  static func bytes(_ count: Int64) -> String {
    guard count >= 1024 else { return "\(max(0, count)) B" }
    var (value, unit) = (Double(count) / 1024, 0)
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 999.95, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  /// Returns a duration such as `0:42` or `2:03:04`.
  static func clock(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds < 360_000 else { return "--:--" }
    let whole = Int(max(0, seconds).rounded(.up))
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes) = (whole / 3600, whole / 60 % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
  }

  /// Reads a duration such as `90`, `30s`, `15m`, `2h` or `7d`, in seconds.
  static func seconds(_ text: String) -> Int64? {
    let factors: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    let factor = text.last.flatMap { factors[$0] }
    guard let number = Int64(factor == nil ? text[...] : text.dropLast()),
      (0...1_000_000_000).contains(number)
    else { return nil }
    return number * (factor ?? 1)
  }

  /// Reads a number of bytes such as `500k` or `2M`, with powers of 1024 as in curl.
  static func byteCount(_ text: String) -> Int64? {
    let factors: [Character: Int64] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]
    let factor = text.lowercased().last.flatMap { factors[$0] }
    guard let number = Int64(factor == nil ? text[...] : text.dropLast()), number > 0,
      case let (product, overflow) = number.multipliedReportingOverflow(by: factor ?? 1), !overflow
    else { return nil }
    return product
  }
}
