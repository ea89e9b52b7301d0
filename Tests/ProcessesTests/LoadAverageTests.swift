import Foundation
import Testing

@testable import Processes

@Suite struct LoadAverageTests {
  @Test func `load is the load average of the kernel`() throws {
    let before = try Self.kernelsLoad()
    let load = LoadAverage.now()
    let after = try Self.kernelsLoad()
    // /proc/loadavg is rounded to hundredths.
    #expect(load >= min(before, after) - 0.01 && load <= max(before, after) + 0.01)
  }
  private static func kernelsLoad() throws -> Double {
    let text = try String(contentsOfFile: "/proc/loadavg", encoding: .utf8)
    return try #require(text.split(separator: " ").first.flatMap { Double($0) })
  }
}
