internal import JSON

/// The form of stored documents: records in a row of a ledger or in resume data.
///
/// Each document names its version, which is the same for all kinds. Raise the version if a member changes its meaning, or if a new member
/// has no default. Members with a default need no new version: see `RecordCoder`.
package enum Document {
  package static let version = 1
  private static let member: StaticString = "v"

  /// The first bytes of every document with members.
  package static let start = Array("{\"\(member)\":\(version),".utf8)

  /// Returns a document whose members `table` writes.
  package static func write(_ table: (inout RecordCoder) throws(RecordFault) -> Void) -> [UInt8] {
    RecordCoder.write { coder throws(RecordFault) in
      _ = try coder.required(member, version)
      try table(&coder)
    }
  }

  /// Reads a document.
  /// - Parameter table: reads all members except the version.
  package static func read<T>(
    _ document: [UInt8], _ table: (inout RecordCoder) throws(RecordFault) -> T
  ) throws(RecordFault) -> T {
    try RecordCoder.read(try json(document)) { coder throws(RecordFault) in
      _ = try coder.required(member, Optional<Int>.none)
      return try table(&coder)
    }
  }

  package static func write(_ record: some Record) -> [UInt8] {
    write { coder throws(RecordFault) in _ = try type(of: record).members(&coder, record) }
  }

  package static func read<T: Record>(_ type: T.Type, _ document: [UInt8]) throws(RecordFault) -> T {
    try read(document) { coder throws(RecordFault) in try T.members(&coder, nil) }
  }

  package static func write(_ value: some RecordCases) -> [UInt8] {
    write { coder in value.writeMember(to: &coder) }
  }

  package static func read<T: RecordCases>(_ type: T.Type, _ document: [UInt8]) throws(RecordFault) -> T {
    let members = try json(document).members?.filter { $0.name != "\(member)" } ?? []
    guard members.count == 1 else { throw RecordFault("must have one member, not \(members.count)") }
    return try T.readMember(members[0])
  }

  /// Returns the id of the task or session that a case is about: its first value, if `id` can parse it. It reads documents of any version.
  package static func subject<ID>(of document: [UInt8], _ id: (String) -> ID?) -> ID? {
    guard let members = (try? JSONParser.parse(document))?.members else { return nil }
    for member in members {
      if let found = member.value.elements?.first?.string.flatMap(id) { return found }
    }
    return nil
  }

  private static func json(_ document: [UInt8]) throws(RecordFault) -> JSONValue {
    let json: JSONValue
    do throws(JSONSyntaxError) { json = try JSONParser.parse(document) } catch {
      throw RecordFault("is not JSON: \(error.reason), at byte \(error.offset)")
    }
    let found = json[member]
    guard found?.integer == Int64(version) else {
      let text = found.map { found in found.integer.map { "\($0)" } ?? found.kind } ?? "missing"
      throw RecordFault("is \(text): this program knows version \(version)").under("\(member)")
    }
    return json
  }
}
