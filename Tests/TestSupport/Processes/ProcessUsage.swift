import Foundation

/// The memory and processor time of a process.
package struct ProcessUsage: Sendable {
  private let id: Int32
  package init(_ id: Int32) { self.id = id }

  /// Returns the resident memory in KiB.
  package func residentMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return line.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first ?? .max
  }

  /// Returns the processor time in seconds.
  package func processorTime() throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }
    guard ticks.count == 2 else { return .infinity }
    return ticks.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
