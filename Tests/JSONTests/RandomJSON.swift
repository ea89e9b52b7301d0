import TestSupport
@testable import JSON

/// Random values that are equal to their parsed form. Whole numbers are therefore integers.
struct RandomJSON {
  var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func value(depth: Int = 0) -> JSONValue {
    switch Int.random(in: 0..<(depth < 5 ? 8 : 5), using: &generator) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &generator))
    case 2: return .integer(integer())
    case 3: return .number(fraction())
    case 4, 5: return .string(text())
    case 6:
      let count = Int.random(in: 0...5, using: &generator)
      return .array((0..<count).map { _ in value(depth: depth + 1) })
    default:
      let count = Int.random(in: 0...5, using: &generator)
      return .object(
        (0..<count).map { index in
          JSONValue.Member(name: "\(index)" + text(), value: value(depth: depth + 1))
        })
    }
  }

  private mutating func integer() -> Int64 {
    let edges: [Int64] = [.min, .max, 0, 1, -1, 9_007_199_254_740_993]
    if Int.random(in: 0..<4, using: &generator) == 0 { return edges.randomElement(using: &generator) ?? 0 }
    return Int64(bitPattern: generator.next()) >> Int64.random(in: 0..<64, using: &generator)
  }

  private mutating func fraction() -> Double {
    while true {
      let number = Double(bitPattern: generator.next())
      if number.isFinite, number != number.rounded() { return number }
    }
  }

  private mutating func text() -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
      let limit: UInt32 = [0x20, 0x80, 0x800, 0xFFFF, 0x10FFFF].randomElement(using: &generator) ?? 0x80
      guard let scalar = Unicode.Scalar(UInt32.random(in: 0...limit, using: &generator)) else { continue }
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}
