/// The text of a webhook schedule: seconds with commas.
enum WebhookSchedule {
  private static let mostAttempts = 100
  private static let longestDelay = 2_592_000.0

  static func text(_ delays: [Double]) -> String {
    delays.map { $0 == $0.rounded() ? String(Int($0)) : String($0) }.joined(separator: ",")
  }

  static func delays(_ text: String) throws(SettingFault) -> [Double] {
    var delays: [Double] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let item = part.drop { $0 == " " }
      guard let delay = Double(item), delay >= 0, delay <= longestDelay else {
        throw SettingFault(
          "'\(item)' is not a number of seconds between 0 and \(Int(longestDelay)); write numbers with commas, like 0,5,300"
        )
      }
      delays.append(delay)
    }
    guard delays.count <= mostAttempts else {
      throw SettingFault("there are \(delays.count) attempts; give at most \(mostAttempts)")
    }
    return delays
  }
}
