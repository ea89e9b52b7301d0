package import JSON

/// Header fields in order of receipt. Names are compared ignoring case (RFC 9110 §5.1).
package struct HTTPHeaders: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package var name: String
    package var value: String
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }
  package internal(set) var fields: [Field] = []

  package init() {}
  package init(_ fields: [Field]) { self.fields = fields }

  package var isEmpty: Bool { fields.isEmpty }

  /// The value of a field. All values of a list field are joined (RFC 9110 §5.2).
  package subscript(_ name: String) -> String? {
    guard var place = place(of: name, from: 0) else { return nil }
    var value = fields[place].value
    while let next = self.place(of: name, from: place + 1), !FieldName.isSingle(name) {
      value += ", " + fields[next].value
      place = next
    }
    return value
  }
  package func contains(_ name: String) -> Bool { place(of: name, from: 0) != nil }

  /// Returns the values of all fields of that name, in order.
  package func all(_ name: String) -> [String] {
    var values: [String] = []
    var start = 0
    while let place = place(of: name, from: start) {
      values.append(fields[place].value)
      start = place + 1
    }
    return values
  }

  func place(of name: String, from start: Int) -> Int? {
    // An array's iterator would retain and release each field.
    let (fields, count) = (fields.span, name.utf8.count)
    for place in start..<fields.count where fields[place].name.utf8.count == count {
      if Self.equal(fields[place].name, name) { return place }
    }
    return nil
  }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }
  /// Appends a continuation line to the last field's value, after a space (RFC 9112 §5.2).
  package mutating func continueLast(with text: String) {
    guard !fields.isEmpty else { return }
    let last = fields.count - 1
    if !fields[last].value.isEmpty { fields[last].value += " " }
    fields[last].value += text
  }
  /// Removes all fields, but keeps the memory of a few.
  package mutating func removeAll() { fields.removeAll(keepingCapacity: fields.capacity <= Self.fewFields) }
  private static let fewFields = 16
  package mutating func remove(_ name: String) { fields.removeAll { Self.equal($0.name, name) } }

  /// Returns these fields, and those of `others` whose names do not occur here.
  package func merging(defaults others: HTTPHeaders) -> HTTPHeaders {
    if fields.count <= Self.few {
      return HTTPHeaders(fields + others.fields.filter { !contains($0.name) })
    }
    let names = Set(fields.map { CaselessName(text: $0.name) })
    return HTTPHeaders(fields + others.fields.filter { !names.contains(CaselessName(text: $0.name)) })
  }

  /// The fields with all lines of a name joined in the first one's place (RFC 9110 §5.2). A field that is not a list keeps one value.
  package var joined: HTTPHeaders {
    var joined = joinedLists
    guard joined.fields.count < fields.count, let place = joined.place(of: "Content-Type", from: 0),
      let type = contentType
    else { return joined }
    joined.fields[place].value = type
    return joined
  }

  private var joinedLists: HTTPHeaders {
    var joined: [Field] = []
    joined.reserveCapacity(fields.count)
    guard fields.count > Self.few else {
      for field in fields {
        if let first = joined.firstIndex(where: { Self.equal($0.name, field.name) }) {
          if !FieldName.isSingle(field.name) { joined[first].value += ", " + field.value }
        } else {
          joined.append(field)
        }
      }
      return HTTPHeaders(joined)
    }
    // The fields of one name form a linked list that begins with the first of them; 0 ends a list.
    var (firsts, places) = ([Int](), [CaselessName: Int](minimumCapacity: fields.count))
    var (next, last) = ([Int](repeating: 0, count: fields.count), Array(fields.indices))
    for (place, field) in fields.enumerated() {
      let name = CaselessName(text: field.name)
      if let first = places[name] {
        next[last[first]] = place
        last[first] = place
      } else {
        places[name] = place
        firsts.append(place)
      }
    }
    for first in firsts {
      var field = fields[first]
      if next[first] > 0, !FieldName.isSingle(field.name) {
        var (value, place) = (Array(field.value.utf8), next[first])
        while place > 0 {
          value.append(text: ", ")
          value.append(text: fields[place].value)
          place = next[place]
        }
        field.value = String(decoding: value, as: UTF8.self)
      }
      joined.append(field)
    }
    return HTTPHeaders(joined)
  }

  /// The number of fields up to which pairwise comparison is faster than a hash table.
  private static let few = 16

  private struct CaselessName: Hashable {
    let text: String
    static func == (left: Self, right: Self) -> Bool { HTTPHeaders.equal(left.text, right.text) }
    /// Hashes eight bytes at once, because a hasher takes as long for a byte as for a word.
    func hash(into hasher: inout Hasher) {
      let bytes = text.utf8Span.span
      var word: UInt64 = 0
      for place in bytes.indices {
        word = word << 8 | UInt64(HTTPHeaders.lowercase(bytes[place]))
        if place % 8 == 7 {
          hasher.combine(word)
          word = 0
        }
      }
      // The last word has at most seven bytes.
      hasher.combine(word | UInt64(truncatingIfNeeded: bytes.count) << 56)
    }
  }

  package static func equal(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    let (left, right) = (left.utf8Span.span, right.utf8Span.span)
    for place in left.indices where left[place] != right[place] {
      guard lowercase(left[place]) == lowercase(right[place]) else { return false }
    }
    return true
  }
  static func lowercase(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
  }

  /// Whether a name is a token (RFC 9110 §5.6.2).
  package static func isValid(name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy(FieldName.isTokenByte)
  }
  /// Whether a value has no control characters other than the tab, so that it cannot end the field (RFC 9110 §5.5).
  package static func isValid(value: String) -> Bool {
    value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }
}

extension HTTPHeaders: JSONEncodable {
  /// Writes an object. Fields of one name are joined, as in `allHeaderFields`.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      for field in joined.fields {
        writer.key(field.name)
        writer.value(field.value)
      }
    }
  }

  package init(json: JSONValue?) {
    fields = (json?.members ?? []).compactMap { member in
      member.value.string.map { Field(name: member.name, value: $0) }
    }
  }
}
