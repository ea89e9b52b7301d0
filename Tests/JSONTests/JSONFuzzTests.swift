import TestSupport
import Foundation
import Testing

@testable import JSON

@Suite struct JSONFuzzTests {
  @Test func `written values are parsed back`() throws {
    var random = RandomJSON(seed: 0xF0E1)
    for round in 0..<2000 {
      let value = random.value()
      try #require(try JSONParser.parse(value.json) == value, "round \(round)")
    }
  }

  @Test func `another parser reads the same value`() throws {
    var random = RandomJSON(seed: 0xF0E2)
    for round in 0..<2000 {
      let value = random.value()
      let theirs = try JSONSerialization.jsonObject(with: Data(value.json), options: .fragmentsAllowed)
      try #require(same(theirs, value), "round \(round): \(String(decoding: value.json, as: UTF8.self))")
    }
  }

  @Test func `mutations do not crash the parser`() throws {
    var random = RandomJSON(seed: 0xF0E3)
    var refused = 0
    for _ in 0..<2000 {
      var bytes = random.value().json
      for _ in 0..<Int.random(in: 1...4, using: &random.generator) {
        mutate(&bytes, using: &random.generator)
      }
      guard let value = try? JSONParser.parse(bytes) else {
        refused += 1
        continue
      }
      try #require(try JSONParser.parse(value.json) == value)
    }
    #expect(refused > 200)
  }

  private func mutate(_ bytes: inout [UInt8], using generator: inout SplitMix64) {
    let place = bytes.isEmpty ? 0 : Int.random(in: 0..<bytes.count, using: &generator)
    switch Int.random(in: 0..<4, using: &generator) {
    case 0 where !bytes.isEmpty: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
    case 1 where !bytes.isEmpty: bytes.remove(at: place)
    case 2: bytes.insert(Array("{}[]\",:\\u0-e.".utf8).randomElement(using: &generator) ?? 0, at: place)
    default: bytes.removeLast(min(bytes.count, Int.random(in: 1...3, using: &generator)))
    }
  }

  private func same(_ theirs: Any, _ ours: JSONValue) -> Bool {
    switch ours.kind {
    case "null": return theirs is NSNull
    case "a boolean": return (theirs as? Bool) == ours.bool
    case "a number":
      if let number = ours.integer { return (theirs as? NSNumber)?.int64Value == number }
      // JSONSerialization uses a decimal number, which loses the last digits.
      guard let number = ours.double, let other = (theirs as? NSNumber)?.doubleValue else { return false }
      return abs(other - number) <= abs(number) * 1e-14
    case "a string":
      guard let text = ours.string else { return false }
      return (theirs as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
    case "an array":
      guard let list = theirs as? [Any], let values = ours.elements, list.count == values.count else {
        return false
      }
      return zip(list, values).allSatisfy { same($0, $1) }
    default:
      guard let map = theirs as? [String: Any], let members = ours.members, map.count == members.count else {
        return false
      }
      return members.allSatisfy { member in map[member.name].map { same($0, member.value) } ?? false }
    }
  }
}
